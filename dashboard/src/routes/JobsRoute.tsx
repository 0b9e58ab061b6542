import { jobsQuery } from '../api/jobs.ts'
import type { JobItem, JobPage } from '../api/jobs.ts'
import type { OperationAction } from '../api/operations.ts'
import { useLive } from '../api/use-live.ts'
import { JobTable } from '../components/JobTable.tsx'
import { Loaded } from '../components/Loaded.tsx'
import { NewRows } from '../components/NewRows.tsx'
import { OperationDialog } from '../components/OperationDialog.tsx'
import { Page } from '../components/Page.tsx'
import { Pager } from '../components/Pager.tsx'
import { QueryBar } from '../components/QueryBar.tsx'
import { say } from '../components/toasts.tsx'
import { useHeld, useShownScope } from '../components/use-held.ts'
import { useMe } from '../components/use-me.ts'
import { useClosed, usePanel } from '../components/use-panel.ts'
import { currentRow, useRowKeys } from '../components/use-row-keys.ts'
import { useKeys } from '../keys.ts'
import { isIdEnd, plural, whole } from '../text/format.ts'
import { valueOf } from '../text/where.ts'
import { useUrl } from '../url/use-url.ts'

export function JobsRoute() {
  const { param, set } = useUrl()
  const where = param('where') ?? ''
  const cursor = param('cursor')
  const jobs = useLive(jobsQuery(where, cursor))
  const scope = useShownScope(jobs, `${where} ${cursor ?? ''}`)
  return (
    <Page title="Jobs">
      <QueryBar
        where={where}
        search={(next) => {
          set({ where: next, cursor: undefined, sel: undefined, all: undefined })
        }}
        error={jobs.error}
      />
      <Loaded query={jobs}>{(page) => <List page={page} where={where} scope={scope} />}</Loaded>
    </Page>
  )
}

function List({ page, where, scope }: { page: JobPage; where: string; scope: string }) {
  const { param, set } = useUrl()
  const panel = usePanel()
  // Always held: new jobs arrive all the time in a list of jobs.
  const held = useHeld(page.items, (job) => job.id, scope, true)
  const selected = new Set((param('sel') ?? '').split(',').filter((id) => id !== ''))
  const isAll = param('all') === '1'
  const select = (ids: Iterable<string>): void => {
    set({ sel: [...ids].join(','), all: undefined }, { replace: true })
  }
  const shown = held.rows.filter((row) => selected.has(row.key)).map((row) => row.item)
  const { me, can } = useMe()
  const actions = fittingActions(can, isAll ? undefined : shown, where)
  // A link can name a dialog too: it does not open if the person may not do the action, or the jobs do not allow it.
  const open = actions.find(({ action }) => panel.name === `op-${action}`)?.action
  const isSome = isAll || selected.size > 0
  useClosed(panel, panel.name !== undefined && me !== undefined && (open === undefined || !isSome))

  useRowKeys()
  useKeys([
    {
      key: 'r',
      label: 'replay the selected jobs, or the current row',
      run: () => {
        const row = held.rows.find(({ key }) => key === currentRow()?.dataset['row'])?.item
        if (!isSome && row === undefined) return
        const fitting = isSome || row === undefined ? actions : fittingActions(can, [row], where)
        if (!fitting.some(({ action }) => action === 'replay')) {
          say({ tone: 'fail', text: whyNoReplay(can, isSome ? undefined : row) })
          return
        }
        if (!isSome && row !== undefined) select([row.id])
        panel.open('op-replay')
      },
    },
    {
      key: '*',
      label: 'select all jobs that match the filter',
      run: () => {
        if (where !== '') set({ all: '1', sel: undefined }, { replace: true })
      },
    },
  ])

  return (
    <>
      <div className="bulk" role="toolbar" aria-label="Act on jobs">
        <label className="check">
          <input
            type="checkbox"
            checked={held.rows.length > 0 && held.rows.every((row) => selected.has(row.key))}
            disabled={isAll || held.rows.length === 0}
            onChange={(event) => {
              select(event.currentTarget.checked ? held.rows.map((row) => row.key) : [])
            }}
          />
          This page
        </label>
        <label className="check" title={where === '' ? 'Enter a filter first' : undefined}>
          <input
            type="checkbox"
            checked={isAll}
            disabled={where === ''}
            onChange={(event) => {
              set({ all: event.currentTarget.checked ? '1' : undefined, sel: undefined }, { replace: true })
            }}
          />
          All that match
        </label>
        <span className="bulk-count" aria-live="polite">
          {isAll ? 'All matching:' : selected.size > 0 ? `${whole(selected.size)} selected:` : ''}
        </span>
        {isSome ? (
          <span className="bulk-actions">
            {actions.map(({ action, label }) => (
              <button
                key={action}
                type="button"
                className="button"
                onClick={() => {
                  panel.open(`op-${action}`)
                }}
              >
                {label}
              </button>
            ))}
            {actions.length === 0 ? (
              <span className="muted">No action available for this selection</span>
            ) : null}
          </span>
        ) : null}
        <span className="bulk-end">
          <NewRows waiting={held.waiting} letIn={held.letIn} more={held.waiting >= 50} />
        </span>
      </div>
      {held.rows.length === 0 ? (
        <div className="empty">
          <p>{where === '' ? 'No jobs yet.' : 'No job matches this filter.'}</p>
          {isIdEnd(valueOf(where, 'id') ?? '') ? (
            <p className="muted">
              The end of an id is searched for among the newest 50,000 jobs. To find an older job, enter its
              whole id.
            </p>
          ) : null}
          {page.looked.complete ? null : (
            <p className="muted">
              Searched {plural(page.looked.rows, 'row')} so far. Open the next page to search on.
            </p>
          )}
        </div>
      ) : (
        <JobTable
          rows={held.rows}
          selected={isAll ? new Set(held.rows.map((row) => row.key)) : selected}
          toggle={(id) => {
            const next = new Set(isAll ? held.rows.map((row) => row.key) : selected)
            if (!next.delete(id)) next.add(id)
            select(next)
          }}
        />
      )}
      {page.looked.complete || held.rows.length === 0 ? null : (
        <p className="muted">
          This filter has no index: Stint read {plural(page.looked.rows, 'row')} for this page.
        </p>
      )}
      <Pager next={page.next} />
      {open !== undefined && isSome ? (
        <OperationDialog
          action={open}
          target={isAll ? { where } : { ids: [...selected] }}
          close={panel.close}
        />
      ) : null}
    </>
  )
}

const labels = {
  replay: 'Replay…',
  'run-now': 'Run now…',
  reprioritize: 'Priority…',
  cancel: 'Cancel…',
  discard: 'Discard…',
  restore: 'Restore…',
} as const satisfies Record<OperationAction, string>

const statesOf: Record<OperationAction, readonly string[]> = {
  replay: ['dead'],
  'run-now': ['scheduled', 'retrying'],
  reprioritize: ['scheduled', 'waiting', 'ready', 'retrying'],
  cancel: ['scheduled', 'waiting', 'ready', 'running', 'retrying'],
  discard: ['dead'],
  restore: ['dead'],
}

function whyNoReplay(can: Can, job: JobItem | undefined): string {
  if (!can('operation') || !can('replay')) return 'Your role may not replay jobs.'
  if (job === undefined) return 'Only dead letters can be replayed; none is selected.'
  if (job.discardedAt !== null) return 'This job is in the trash. Restore it before you replay it.'
  return `Only dead letters can be replayed; the state of this job is ${job.state}.`
}

type Can = ReturnType<typeof useMe>['can']

/** The actions that this person may do: for selected jobs by their states, for a filter by the states it names. */
function fittingActions(
  can: Can,
  jobs: readonly JobItem[] | undefined,
  where: string,
): { action: OperationAction; label: string }[] {
  const isTrash =
    jobs === undefined ? where.includes('is:discarded') : jobs.some((job) => job.discardedAt !== null)
  const given = valueOf(where, 'state')?.split(',')
  const states =
    jobs === undefined || jobs.length === 0 ? (isTrash ? ['dead'] : given) : jobs.map((job) => job.state)
  return (Object.keys(labels) as OperationAction[])
    .filter((action) => can('operation') && can(action))
    .filter((action) => states === undefined || statesOf[action].some((state) => states.includes(state)))
    .filter((action) => (action === 'restore') === isTrash)
    .map((action) => ({ action, label: labels[action] }))
}
