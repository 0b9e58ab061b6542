import { Link } from 'wouter'
import type { State } from '../../../src/server/api/common.ts'
import { queueQuery, statsQuery } from '../api/queues.ts'
import type { QueueDetails } from '../api/queues.ts'
import { useLive } from '../api/use-live.ts'
import { CliLine } from '../components/CliLine.tsx'
import { Icon } from '../components/Icon.tsx'
import { Loaded } from '../components/Loaded.tsx'
import { Page, Section } from '../components/Page.tsx'
import { PauseBand } from '../components/PauseBand.tsx'
import { PauseDialog } from '../components/PauseDialog.tsx'
import { QueueConcurrency, QueueFlowActions } from '../components/QueueFlow.tsx'
import { QueuePressure } from '../components/QueuePressure.tsx'
import { QueueRules } from '../components/QueueRules.tsx'
import { QueueSettings } from '../components/QueueSettings.tsx'
import { RangePicker } from '../components/RangePicker.tsx'
import { StatCharts } from '../components/StatCharts.tsx'
import { useMe } from '../components/use-me.ts'
import { usePanel } from '../components/use-panel.ts'
import { useRowKeys } from '../components/use-row-keys.ts'
import { figureText, percent, plural, rate, slotsText, span } from '../text/format.ts'
import { shell } from '../text/shell.ts'
import { token, whereOf } from '../text/where.ts'
import { useRange } from '../url/use-range.ts'
import { query } from '../url/use-url.ts'

export function QueueRoute({ queue }: { queue: string }) {
  const [range] = useRange()
  const detail = useLive(queueQuery(queue))
  const stats = useLive(statsQuery(range, { queue }))
  const { can } = useMe()
  const panel = usePanel()
  useRowKeys()
  return (
    <Page
      title={queue}
      heading={
        <>
          <span className="muted">Queue </span>
          {queue}
        </>
      }
      actions={
        <>
          {can('pause') ? (
            <button
              type="button"
              className="button"
              onClick={() => {
                panel.open('pause')
              }}
            >
              Pause…
            </button>
          ) : null}
          {can('queue.edit') ? (
            <>
              <QueueFlowActions queue={queue} />
              <button
                type="button"
                className="button"
                onClick={() => {
                  panel.open('settings')
                }}
              >
                Retention…
              </button>
            </>
          ) : null}
          <RangePicker />
        </>
      }
    >
      <Loaded query={detail}>
        {(answer) => (
          <>
            <PauseBand queues={[answer]} />
            {can('pause') ? <ResumeLines detail={answer} /> : null}
            <Counts detail={answer} />
            <QueuePressure queue={queue} />
            <QueueConcurrency queue={queue} canEdit={can('queue.edit')} />
            {stats.data === undefined ? null : <StatCharts series={stats.data} />}
            <div className="columns">
              <Kinds detail={answer} />
              <Keys detail={answer} />
            </div>
            <QueueRules detail={answer} />
            <Kept detail={answer} />
            {panel.name === 'pause' && can('pause') ? (
              <PauseDialog detail={answer} close={panel.close} />
            ) : null}
            {panel.name === 'settings' ? <QueueSettings detail={answer} close={panel.close} /> : null}
          </>
        )}
      </Loaded>
    </Page>
  )
}

/** How to end its first pauses on the command line. */
function ResumeLines({ detail }: { detail: QueueDetails }) {
  if (detail.pauses.length === 0) return null
  return (
    <div className="cli-lines">
      {detail.pauses.slice(0, 3).map(({ kind, key }) => {
        const part = kind !== null ? [`--kind=${kind}`] : key !== null ? [`--key=${key}`] : []
        const command = shell('stint', 'queue', 'resume', detail.queue, ...part)
        return <CliLine key={command} command={command} label="Resume, on the command line" />
      })}
    </div>
  )
}

function Counts({ detail }: { detail: QueueDetails }) {
  const states = ['ready', 'running', 'retrying', 'scheduled', 'waiting'] as const
  return (
    <section className="figures" aria-label="Jobs by state">
      {states.map((state) => (
        <Count
          key={state}
          detail={detail}
          state={state}
          value={figureText(detail[state], state, detail)}
          note={
            state === 'ready'
              ? detail.oldestReadyMs === null
                ? 'none waiting'
                : `oldest ${span(detail.oldestReadyMs)}`
              : state === 'running'
                ? `${slotsText(detail.running, detail.slots)}, ${plural(detail.workers, 'worker')}`
                : ''
          }
        />
      ))}
      <Count detail={detail} state="dead" value={figureText(detail.dead, 'dead', detail)} note="" />
      <div className="figure">
        <span className="figure-name">
          In / out <span className="figure-window">5 min</span>
        </span>
        <span className="figure-value">
          {rate(detail.inPerSecond)} / {rate(detail.outPerSecond)}
        </span>
        <span className="figure-note">
          {detail.ready === 0
            ? 'none waiting'
            : detail.emptyInMs === null
              ? 'not shrinking'
              : `empty in ${span(detail.emptyInMs)}`}
        </span>
      </div>
    </section>
  )
}

function Count({
  detail,
  state,
  value,
  note,
}: {
  detail: QueueDetails
  state: State
  value: string
  note: string
}) {
  return (
    <Link
      className="figure"
      href={`/jobs${query({ where: `${token('state', state)} ${whereOf({ queue: detail.queue })}` })}`}
    >
      <span className={`figure-name state-${state}`}>
        <Icon name={state} /> {state}
      </span>
      <span className="figure-value">{value}</span>
      <span className="figure-note">{note}</span>
    </Link>
  )
}

function Kinds({ detail }: { detail: QueueDetails }) {
  return (
    <Section title="Kinds" aside={<span className="muted">failed, took: last hour</span>}>
      {detail.kinds.length === 0 ? (
        <p className="empty">This queue has no jobs.</p>
      ) : (
        <div className="table-scroll" tabIndex={0} role="region" aria-label="Kinds">
          <table className="rows">
            <thead>
              <tr>
                <th scope="col">Kind</th>
                <th scope="col" className="num">
                  Ready
                </th>
                <th scope="col" className="num">
                  Running
                </th>
                <th scope="col" className="num">
                  Retrying
                </th>
                <th scope="col" className="num">
                  Out, 5 min
                </th>
                <th scope="col" className="num">
                  Failed
                </th>
                <th scope="col" className="num">
                  Took p50
                </th>
                <th scope="col" className="num">
                  p95
                </th>
              </tr>
            </thead>
            <tbody>
              {detail.kinds.map((kind) => (
                <tr key={kind.kind} data-row>
                  <th scope="row">
                    <Link
                      data-row-link
                      className="name"
                      href={`/jobs${query({ where: whereOf({ queue: detail.queue, kind: kind.kind }) })}`}
                    >
                      {kind.kind}
                    </Link>
                    {kind.handled ? null : <span className="tag tag-warn">no handler</span>}
                  </th>
                  {(['ready', 'running', 'retrying'] as const).map((state) => (
                    <td key={state} className="num">
                      {figureText(kind[state], state, detail)}
                    </td>
                  ))}
                  <td className="num">{rate(kind.perSecond)}</td>
                  <td className={`num ${(kind.failureRate ?? 0) > 0.05 ? 'bad' : ''}`}>
                    {percent(kind.failureRate)}
                  </td>
                  <td className="num">{kind.run.p50 === null ? '–' : span(kind.run.p50)}</td>
                  <td className="num">{kind.run.p95 === null ? '–' : span(kind.run.p95)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Section>
  )
}

function Keys({ detail }: { detail: QueueDetails }) {
  const rows = [
    ...detail.topKeys.map((each) => ({
      name: each.key,
      where: whereOf({ queue: detail.queue, key: each.key }),
      ready: each.ready,
    })),
  ]
  return (
    <Section title="Ready, by key and priority">
      {rows.length === 0 && detail.priorities.length === 0 ? (
        <p className="empty">No ready jobs.</p>
      ) : (
        <div className="pairs">
          <table className="rows">
            <thead>
              <tr>
                <th scope="col">Key</th>
                <th scope="col" className="num">
                  Ready
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.length === 0 ? (
                <tr>
                  <td colSpan={2} className="muted">
                    No keys
                  </td>
                </tr>
              ) : null}
              {rows.slice(0, 12).map((row) => (
                <tr key={row.name}>
                  <th scope="row">
                    <Link className="name" href={`/jobs${query({ where: `state:ready ${row.where}` })}`}>
                      {row.name}
                    </Link>
                  </th>
                  <td className="num">{figureText(row.ready, 'ready', detail)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <table className="rows">
            <thead>
              <tr>
                <th scope="col" className="num">
                  Priority
                </th>
                <th scope="col" className="num">
                  Ready
                </th>
              </tr>
            </thead>
            <tbody>
              {detail.priorities.slice(0, 12).map((row) => (
                <tr key={row.priority}>
                  <th scope="row" className="num">
                    {row.priority}
                  </th>
                  <td className="num">{figureText(row.ready, 'ready', detail)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Section>
  )
}

function Kept({ detail }: { detail: QueueDetails }) {
  const { keepMs, keepDeadMs } = detail.settings
  return (
    <p className="muted">
      Finished jobs are kept{' '}
      {keepMs === null ? '7 days (default)' : keepMs === 0 ? 'a few minutes' : span(keepMs)}, dead letters{' '}
      {keepDeadMs === null ? 'forever (default)' : span(keepDeadMs)}. Run time in the last hour:{' '}
      {detail.run.p50 === null
        ? 'no data'
        : `median ${span(detail.run.p50)}, 99th percentile ${span(detail.run.p99 ?? 0)}`}
      .
    </p>
  )
}
