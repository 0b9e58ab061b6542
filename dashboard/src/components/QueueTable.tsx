import { Link } from 'wouter'
import type { QueueFigures } from '../api/queues.ts'
import { figureText, percent, rate, span, whole } from '../text/format.ts'
import { token, whereOf } from '../text/where.ts'
import { query } from '../url/use-url.ts'
import { NewRows } from './NewRows.tsx'
import { OfSlots } from './OfSlots.tsx'
import { pausedAs } from './PauseBand.tsx'
import { Sparkline } from './Sparkline.tsx'
import { useHeld } from './use-held.ts'

/** The time that its columns cover. */
export const queueTimes = 'in, out: last 5 min; wait, failed: last hour'

/** One row per queue; every number leads to the jobs behind it. */
export function QueueTable({ queues }: { queues: readonly QueueFigures[] }) {
  const { rows, waiting, letIn } = useHeld(queues, (item) => item.queue)
  return (
    <>
      <NewRows waiting={waiting} letIn={letIn} />
      <div className="table-scroll" tabIndex={0} role="region" aria-label="Table of queues">
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">Queue</th>
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
                Scheduled
              </th>
              <th scope="col" className="num">
                Dead
              </th>
              <th scope="col" className="num">
                In
              </th>
              <th scope="col" className="num">
                Out
              </th>
              <th scope="col" className="num">
                Oldest ready
              </th>
              <th scope="col" className="num">
                Wait p95
              </th>
              <th scope="col" className="num">
                Failed
              </th>
              <th scope="col" className="num">
                Empty in
              </th>
              <th scope="col">Last hour</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ item, key, isGone }) => (
              <tr key={key} data-row className={isGone ? 'gone' : ''}>
                <th scope="row">
                  <Link
                    data-row-link
                    href={`/queues/${encodeURIComponent(item.queue)}`}
                    className="name"
                    title={item.queue}
                  >
                    {item.queue}
                  </Link>
                  {item.workers === 0 ? <span className="tag tag-warn">no worker</span> : null}
                  <PausedTag item={item} />
                </th>
                <StateCount item={item} state="ready" />
                <td className="num">
                  <Link href={jobs(item, 'running')}>{figureText(item.running, 'running', item)}</Link>
                  <OfSlots running={item.running} slots={item.slots} />
                </td>
                <StateCount item={item} state="retrying" />
                <StateCount item={item} state="scheduled" />
                <StateCount item={item} state="dead" />
                <td className="num">{rate(item.inPerSecond)}</td>
                <td className="num">{rate(item.outPerSecond)}</td>
                <td
                  className={`num ${item.oldestReadyMs !== null && item.oldestReadyMs > 300_000 ? 'bad' : ''}`}
                >
                  {item.oldestReadyMs === null ? <span className="muted">–</span> : span(item.oldestReadyMs)}
                </td>
                <td className="num">
                  {item.wait.p95 === null ? <span className="muted">–</span> : span(item.wait.p95)}
                </td>
                <td className={`num ${(item.failureRate ?? 0) > 0.05 ? 'bad' : ''}`}>
                  {percent(item.failureRate)}
                </td>
                <td className="num">{emptyIn(item)}</td>
                <td>
                  <Sparkline
                    values={item.spark}
                    label={`${whole(item.spark.reduce((sum, value) => sum + value, 0))} jobs ended in the last hour`}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

function StateCount({
  item,
  state,
}: {
  item: QueueFigures
  state: 'ready' | 'retrying' | 'scheduled' | 'dead'
}) {
  const count = item[state]
  return (
    <td className="num">
      {count === 0 ? (
        <span className="muted">0</span>
      ) : (
        <Link className={state === 'dead' ? 'bad' : undefined} href={jobs(item, state)}>
          {figureText(count, state, item)}
        </Link>
      )}
    </td>
  )
}

function PausedTag({ item }: { item: QueueFigures }) {
  const paused = pausedAs(item.pauses)
  return paused === undefined ? null : <span className="tag tag-warn">{paused}</span>
}

function emptyIn(item: QueueFigures) {
  if (item.ready === 0) return <span className="muted">empty</span>
  if (pausedAs(item.pauses) === 'paused') return <span className="warn-text">paused</span>
  if (item.emptyInMs !== null) return span(item.emptyInMs)
  return <span className="warn-text">{item.workers === 0 ? 'never' : 'growing'}</span>
}

function jobs(item: QueueFigures, state: string): string {
  return `/jobs${query({ where: `${token('state', state)} ${whereOf({ queue: item.queue })}` })}`
}
