import { Link } from 'wouter'
import { errorGroupQuery, errorGroupsQuery, triage } from '../api/error-groups.ts'
import type { ErrorGroupDetail, ErrorGroupItem, ErrorGroupPage } from '../api/error-groups.ts'
import { overviewQuery } from '../api/queues.ts'
import { useLive } from '../api/use-live.ts'
import { Choice } from '../components/Choice.tsx'
import { CliLine } from '../components/CliLine.tsx'
import { Loaded } from '../components/Loaded.tsx'
import { NewRows } from '../components/NewRows.tsx'
import { OperationDialog } from '../components/OperationDialog.tsx'
import { Page } from '../components/Page.tsx'
import { Pager } from '../components/Pager.tsx'
import { Sparkline } from '../components/Sparkline.tsx'
import { Age, Time } from '../components/Time.tsx'
import { TriageDialog } from '../components/TriageDialog.tsx'
import { say } from '../components/toasts.tsx'
import { useAct } from '../components/use-act.ts'
import { useHeld, useShownScope } from '../components/use-held.ts'
import { useMe } from '../components/use-me.ts'
import { usePanel } from '../components/use-panel.ts'
import { currentRow, useRowKeys } from '../components/use-row-keys.ts'
import { useKeys } from '../keys.ts'
import { countText, plural, whole } from '../text/format.ts'
import { shell } from '../text/shell.ts'
import { whereOf } from '../text/where.ts'
import { query, useUrl } from '../url/use-url.ts'

const statuses = ['open', 'resolved', 'ignored', 'all'] as const

/** Dead letters grouped by error: one decision for all with the same error. */
export function DeadRoute() {
  const { param, set } = useUrl()
  const given = param('status') ?? 'open'
  const deadly = param('show') !== 'errors'
  const groups = useLive(errorGroupsQuery({ status: given, deadly }, param('cursor')))
  const scope = useShownScope(groups, `${given} ${String(deadly)} ${param('cursor') ?? ''}`)
  const other = { cursor: undefined, group: undefined, panel: undefined }
  return (
    <Page
      title={deadly ? 'Dead letters' : 'Errors'}
      actions={
        <>
          <Choice
            legend="Which errors"
            name="show"
            choices={['dead letters', 'all errors']}
            chosen={deadly ? 'dead letters' : 'all errors'}
            choose={(which) => {
              set({ ...other, show: which === 'dead letters' ? undefined : 'errors' })
            }}
          />
          <Choice
            legend="Status of the groups"
            name="status"
            choices={statuses}
            chosen={given}
            choose={(status) => {
              set({ ...other, status: status === 'open' ? undefined : status })
            }}
          />
        </>
      }
    >
      <Loaded query={groups}>
        {(page) => <Groups page={page} status={given} deadly={deadly} scope={scope} />}
      </Loaded>
    </Page>
  )
}

function Groups({
  page,
  status,
  deadly,
  scope,
}: {
  page: ErrorGroupPage
  status: string
  deadly: boolean
  scope: string
}) {
  const { param, set, href } = useUrl()
  const panel = usePanel()
  const { can } = useMe()
  const { data: overview } = useLive(overviewQuery())
  const { rows, waiting, letIn } = useHeld(page.items, (item) => item.group, scope)
  const open = param('group')
  const isListed = open === undefined || rows.some((row) => row.key === open)
  const canReplay = can('operation') && can('replay')
  useRowKeys()
  useKeys([
    {
      key: 'r',
      label: 'replay the group',
      run: () => {
        const group = currentRow()?.dataset['row'] ?? open
        if (group === undefined || !canReplay) return
        if (rows.find((row) => row.key === group)?.item.dead.count === 0)
          say({ tone: 'fail', text: `Group ${group.slice(0, 8)} has no dead letters to replay.` })
        else set({ group, panel: 'op-replay' })
      },
    },
  ])
  const wanted = panel.name?.startsWith('op-') === true ? panel.name.slice(3) : undefined
  const action = wanted !== undefined && can('operation') ? wanted : undefined
  return (
    <>
      <p className="list-sum">
        <span>
          {/* The same number as in the menu and the overview: dead letters of all groups, and those without a group. */}
          {overview === undefined ? null : `${countText(overview.dead)} dead, `}
          {plural(rows.length, status === 'all' ? 'group' : `${status} group`)}
        </span>
        {page.oldestDiedAt === null ? null : (
          <span>
            oldest <Age since={page.oldestDiedAt} />
          </span>
        )}
        <Link href={`/jobs${query({ where: 'state:dead' })}`}>show as jobs</Link>
        <Link href={`/jobs${query({ where: 'is:discarded' })}`}>trash {countText(page.trash)}</Link>
        <NewRows waiting={waiting} letIn={letIn} />
      </p>
      {rows.length === 0 ? (
        <div className="empty">
          <p>
            {status !== 'open'
              ? `No ${status === 'all' ? 'error' : status} groups.`
              : deadly
                ? 'No open dead letters.'
                : 'No open errors.'}
          </p>
        </div>
      ) : (
        <div className="table-scroll" tabIndex={0} role="region" aria-label="Error groups">
          <table className="rows groups">
            <thead>
              <tr>
                <th scope="col">Group</th>
                <th scope="col">Error</th>
                <th scope="col">Kind</th>
                <th scope="col" className="num">
                  Dead
                </th>
                <th scope="col" className="num">
                  Failed (24 h)
                </th>
                <th scope="col">Trend (24 h)</th>
                <th scope="col">First seen</th>
                <th scope="col">Last seen</th>
                <th scope="col">Versions</th>
                <th scope="col">Status</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ item, key, isGone }) => (
                <>
                  <tr key={key} data-row={key} className={isGone ? 'gone' : ''} aria-selected={open === key}>
                    <th scope="row">
                      <Link
                        data-row-link
                        className="id"
                        href={href({ group: open === key ? undefined : key, panel: undefined })}
                        aria-expanded={open === key}
                        aria-label={`Group ${key.slice(0, 8)}, ${item.title}`}
                      >
                        {key.slice(0, 8)}
                      </Link>
                    </th>
                    <td className="clip wide">
                      <strong>{item.name}</strong> {item.title}
                    </td>
                    <td className="clip">{item.kind}</td>
                    <td className="num">
                      {item.dead.count === 0 ? (
                        <span className="muted">0</span>
                      ) : (
                        <Link href={`/jobs${query({ where: `state:dead error:${key}` })}`}>
                          {countText(item.dead)}
                        </Link>
                      )}
                    </td>
                    <td className="num">{whole(item.failures + item.deaths)}</td>
                    <td>
                      <Sparkline
                        tone="bad"
                        values={item.trend.map((hour) => hour.failures + hour.deaths)}
                        label={`${whole(item.failures + item.deaths)} failed attempts in 24 hours; jobs that died: ${whole(item.deaths)}`}
                      />
                    </td>
                    <td>
                      <Time at={item.firstSeen} />
                    </td>
                    <td>
                      <Time at={item.lastSeen} />
                    </td>
                    <td className="clip">{versionsOf(item)}</td>
                    <td>
                      <Status item={item} />
                    </td>
                  </tr>
                  {open === key ? (
                    <tr key={`${key} open`} className="opened">
                      <td colSpan={10}>
                        <Group group={key} />
                      </td>
                    </tr>
                  ) : null}
                </>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {isListed ? null : (
        <section className="card" aria-label={`Group ${open.slice(0, 8)}`}>
          <Group group={open} />
        </section>
      )}
      <Pager next={page.next} />
      {open !== undefined &&
      (action === 'replay' || action === 'discard') &&
      can('operation') &&
      can(action) ? (
        <OperationDialog action={action} target={{ where: `state:dead error:${open}` }} close={panel.close} />
      ) : null}
      {open !== undefined && (panel.name === 'resolve' || panel.name === 'ignore') && can('triage') ? (
        <TriageDialog group={open} verb={panel.name} close={panel.close} />
      ) : null}
    </>
  )
}

function Status({ item }: { item: ErrorGroupItem }) {
  if (item.status === 'open' && item.regressedAt !== null) {
    return (
      <span className="tag tag-bad">
        regressed <Time at={item.regressedAt} />
      </span>
    )
  }
  if (item.status === 'resolved')
    return <span className="tag">resolved{item.resolvedIn === null ? '' : ` in ${item.resolvedIn}`}</span>
  if (item.status === 'ignored') {
    return (
      <span className="tag">
        ignored{' '}
        {item.ignoredUntil === null ? null : (
          <>
            until <Time at={item.ignoredUntil} exact />
          </>
        )}
      </span>
    )
  }
  if (item.dead.count === 0 && item.deaths > 0) return <span className="tag">open, no dead letters</span>
  return <span className="tag tag-warn">open</span>
}

function versionsOf(item: ErrorGroupItem): string {
  const { versions } = item
  if (versions.length === 0) return '–'
  return versions.length < 3 ? versions.join(', ') : `${versions.at(0) ?? ''} … ${versions.at(-1) ?? ''}`
}

/** The details and actions of one error group. */
function Group({ group }: { group: string }) {
  const detail = useLive(errorGroupQuery(group))
  const panel = usePanel()
  const { can } = useMe()
  const reopen = useAct(() => triage(group, 'reopen', {}), {
    done: () => {
      say({ tone: 'done', text: `Group ${group.slice(0, 8)} is open again.` })
    },
  })
  return (
    <Loaded query={detail}>
      {(answer) => (
        <div className="group">
          <div className="group-actions">
            {can('operation') && can('replay') && answer.dead.count > 0 ? (
              <button
                type="button"
                className="button primary"
                onClick={() => {
                  panel.open('op-replay')
                }}
              >
                Replay {countText(answer.dead)}…
              </button>
            ) : null}
            {can('triage') && answer.status !== 'resolved' ? (
              <button
                type="button"
                className="button"
                onClick={() => {
                  panel.open('resolve')
                }}
              >
                Resolve…
              </button>
            ) : null}
            {can('triage') && answer.status !== 'ignored' ? (
              <button
                type="button"
                className="button"
                onClick={() => {
                  panel.open('ignore')
                }}
              >
                Ignore…
              </button>
            ) : null}
            {can('triage') && answer.status !== 'open' ? (
              <button
                type="button"
                className="button"
                disabled={reopen.isPending}
                onClick={() => {
                  reopen.mutate(undefined)
                }}
              >
                Reopen
              </button>
            ) : null}
            {can('operation') && can('discard') && answer.dead.count > 0 ? (
              <button
                type="button"
                className="button"
                onClick={() => {
                  panel.open('op-discard')
                }}
              >
                Discard {countText(answer.dead)}…
              </button>
            ) : null}
            {answer.dead.count === 0 ? (
              <Link
                className="button"
                href={`/jobs${query({ where: `state:retrying ${whereOf({ kind: answer.kind })}` })}`}
              >
                Retrying jobs of this kind
              </Link>
            ) : (
              <Link className="button" href={`/jobs${query({ where: `state:dead error:${group}` })}`}>
                Show dead letters
              </Link>
            )}
            {answer.sampleJob === null ? null : (
              <Link className="button" href={`/jobs/${answer.sampleJob}`}>
                Example job
              </Link>
            )}
          </div>
          <p className="group-message">{answer.message}</p>
          <p className="muted">
            In 24 hours: {plural(answer.failures + answer.deaths, 'failed attempt')},{' '}
            {plural(answer.deaths, 'job')} died. Error class: {answer.class}. First seen{' '}
            <Time at={answer.firstSeen} />, last seen <Time at={answer.lastSeen} />.
            {answer.versions.length > 0 ? ` Versions: ${answer.versions.join(', ')}.` : ''}
          </p>
          {answer.hours.length === 0 ? null : (
            <Sparkline
              tone="bad"
              values={failuresByHour(answer)}
              label="Failed attempts per hour, up to one week"
            />
          )}
          {answer.stack === null ? null : (
            <pre className="frames" tabIndex={0} aria-label="Stack of the example job">
              {answer.stack}
            </pre>
          )}
          <div className="cli-lines">
            <CliLine command={shell('stint', 'error', 'get', group)} />
            {can('triage') && answer.status !== 'open' ? (
              <CliLine
                command={shell('stint', 'error', 'reopen', group)}
                label="Reopen, on the command line"
              />
            ) : null}
          </div>
        </div>
      )}
    </Loaded>
  )
}

const hourMs = 3_600_000

/** Failures per hour since the first one, for at least a day and at most a week; hours without failures are 0. */
function failuresByHour({ hours, asOf }: Pick<ErrorGroupDetail, 'hours' | 'asOf'>): number[] {
  const counts = new Map(hours.map(({ at, failures, deaths }) => [Date.parse(at), failures + deaths]))
  const last = Math.floor(Date.parse(asOf) / hourMs)
  const first = Math.floor(Math.min(...counts.keys()) / hourMs)
  const length = Math.min(168, Math.max(24, last - first + 1))
  return Array.from({ length }, (_, index) => counts.get((last - length + 1 + index) * hourMs) ?? 0)
}
