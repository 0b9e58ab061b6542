import { Link } from 'wouter'
import { scheduleQuery, schedulesQuery } from '../api/schedules.ts'
import type { Fire, ScheduleItem, ScheduleList } from '../api/schedules.ts'
import { useLive } from '../api/use-live.ts'
import { FireMarks } from '../components/FireMarks.tsx'
import { Icon } from '../components/Icon.tsx'
import { Json } from '../components/Json.tsx'
import { ListSum } from '../components/ListSum.tsx'
import { Loaded } from '../components/Loaded.tsx'
import { Page } from '../components/Page.tsx'
import { Pager } from '../components/Pager.tsx'
import { ScheduleActions } from '../components/ScheduleActions.tsx'
import { Time } from '../components/Time.tsx'
import { useHeld, useShownScope } from '../components/use-held.ts'
import { useRowKeys } from '../components/use-row-keys.ts'
import { plural, shortId } from '../text/format.ts'
import { useUrl } from '../url/use-url.ts'

export function SchedulesRoute() {
  const { param } = useUrl()
  const schedules = useLive(schedulesQuery(param('cursor')))
  const scope = useShownScope(schedules, param('cursor') ?? '')
  useRowKeys()
  return (
    <Page title="Schedules">
      <Loaded
        query={schedules}
        isEmpty={(list) => list.items.length === 0}
        empty={
          <>
            <p>There are no schedules.</p>
            <p className="muted">
              Create one with <code>defineSchedule()</code> in a worker's code, or{' '}
              <code>stint schedule set</code>.
            </p>
          </>
        }
      >
        {(list) => <List list={list} scope={scope} />}
      </Loaded>
    </Page>
  )
}

function List({ list, scope }: { list: ScheduleList; scope: string }) {
  const { param, href } = useUrl()
  const { rows, waiting, letIn } = useHeld(list.items, (item) => item.name, scope)
  const open = param('schedule')
  return (
    <>
      <ListSum count={plural(rows.length, 'schedule')} next={list.next} waiting={waiting} letIn={letIn} />
      <div className="table-scroll" tabIndex={0} role="region" aria-label="Schedules">
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">Schedule</th>
              <th scope="col">Rule</th>
              <th scope="col">Last fires</th>
              <th scope="col">Next</th>
              <th scope="col">Makes</th>
              <th scope="col">Source</th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ item, key, isGone }) => (
              <>
                <tr key={key} data-row={key} className={isGone ? 'gone' : ''} aria-selected={open === key}>
                  <th scope="row">
                    <Link
                      data-row-link
                      className="name"
                      href={href({ schedule: open === key ? undefined : key, panel: undefined })}
                      aria-expanded={open === key}
                    >
                      {item.name}
                    </Link>
                  </th>
                  <td className="wrap">{item.rule}</td>
                  <td>
                    <FireMarks fires={item.recent} />
                  </td>
                  <td>
                    {doesNotFire(item) ? <span className="muted">–</span> : <Time at={item.nextFireAt} />}
                  </td>
                  <td className="clip">
                    {item.kind} <span className="muted">in {item.queue}</span>
                  </td>
                  <td>{item.source === 'code' ? 'code' : 'by hand'}</td>
                  <td>
                    <ScheduleState item={item} />
                  </td>
                </tr>
                {open === key ? (
                  <tr key={`${key} open`} className="opened">
                    <td colSpan={7}>
                      <Detail name={key} />
                    </td>
                  </tr>
                ) : null}
              </>
            ))}
          </tbody>
        </table>
      </div>
      <Pager next={list.next} />
    </>
  )
}

function doesNotFire({ isPaused, invalid }: ScheduleItem): boolean {
  return isPaused || invalid !== null
}

function ScheduleState({ item }: { item: ScheduleItem }) {
  if (item.isPaused) {
    return (
      <span className="tag tag-warn" title={item.pauseReason ?? undefined}>
        <Icon name="pause" /> paused{' '}
        {item.pausedUntil === null ? null : (
          <>
            until <Time at={item.pausedUntil} exact />
          </>
        )}
      </span>
    )
  }
  if (item.isOrphan) return <span className="tag tag-warn">no worker has its code</span>
  if (item.invalid !== null)
    return (
      <span className="tag tag-bad" title={item.invalid}>
        not valid
      </span>
    )
  if (item.failures > 0) return <span className="tag tag-bad">{item.failures} failures in a row</span>
  return <span className="tag">active</span>
}

function Detail({ name }: { name: string }) {
  const schedule = useLive(scheduleQuery(name))
  return (
    <Loaded query={schedule}>
      {(answer) => (
        <div className="group">
          <ScheduleActions schedule={answer} />
          {answer.invalid === null && answer.lastError === null ? null : (
            <p className="bad">
              <Icon name="fail" /> {answer.invalid ?? answer.lastError}
            </p>
          )}
          {answer.askedFires === 0 ? null : (
            <p className={answer.isOrphan ? 'bad' : undefined}>
              {plural(answer.askedFires, 'asked fire')}:{' '}
              {answer.isOrphan
                ? 'no live worker has the code that makes the input, so the jobs wait for one.'
                : 'a worker that has the code makes the jobs.'}
            </p>
          )}
          <div className="columns">
            <div>
              <h2>Next</h2>
              {answer.upcoming.length === 0 ? (
                <p className="muted">This schedule does not fire any more.</p>
              ) : null}
              <ol className="plain-list">
                {answer.upcoming.map((fire) => (
                  <li key={fire.at}>
                    <Time at={fire.at} exact />{' '}
                    {fire.shift === null ? null : (
                      <span className="tag tag-warn">
                        {fire.shift === 'gap'
                          ? 'moved: the clock skips this time'
                          : 'fires once: the clock shows this time twice'}
                      </span>
                    )}
                  </li>
                ))}
              </ol>
              <p className="muted">
                Overlap: {answer.overlap}. Missed: {answer.missed.policy}. Rule as given:{' '}
                <code>{JSON.stringify(answer.spec)}</code>
              </p>
              {answer.source === 'code' ? (
                <p className="muted">
                  This schedule is defined in code: the next deploy overwrites changes made here.
                </p>
              ) : null}
            </div>
            <div>
              <h2>Last fires</h2>
              {answer.recent.length === 0 ? <p className="muted">This schedule has not fired yet.</p> : null}
              <ol className="plain-list">
                {answer.recent.slice(0, 8).map((fire) => (
                  <li key={fire.fireAt}>
                    <Time at={fire.fireAt} exact /> {outcomeWords(fire)}
                    {fire.jobId === null || fire.outcome === 'asked' ? null : (
                      <Link href={`/jobs/${fire.jobId}`}>{shortId(fire.jobId)}</Link>
                    )}
                  </li>
                ))}
              </ol>
            </div>
          </div>
          {answer.input === undefined || answer.input === null ? null : (
            <details>
              <summary>Input{answer.inputFromCode ? ', made by code at each fire' : ''}</summary>
              <Json value={answer.input} label="Input" />
            </details>
          )}
        </div>
      )}
    </Loaded>
  )
}

function outcomeWords(fire: Fire): string {
  return `${fire.outcome}${fire.reason === null ? '' : `: ${fire.reason}`} `
}
