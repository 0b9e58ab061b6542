import { useLayoutEffect, useState } from 'react'
import { Link } from 'wouter'
import { auditQuery } from '../api/system.ts'
import type { AuditItem, AuditPage } from '../api/system.ts'
import { useLive } from '../api/use-live.ts'
import { Icon } from '../components/Icon.tsx'
import { pretty } from '../components/Json.tsx'
import { ListSum } from '../components/ListSum.tsx'
import { Loaded } from '../components/Loaded.tsx'
import { Page } from '../components/Page.tsx'
import { Pager } from '../components/Pager.tsx'
import { Time } from '../components/Time.tsx'
import { useHeld, useShownScope } from '../components/use-held.ts'
import { useRowKeys } from '../components/use-row-keys.ts'
import { isUuid, plural, shortId } from '../text/format.ts'
import { useUrl } from '../url/use-url.ts'

const fields = ['actor', 'action', 'target'] as const

/** The audit log: actions and refused actions, with person, time and reason. */
export function AuditRoute() {
  const { param, set } = useUrl()
  const filter = { actor: param('actor'), action: param('action'), target: param('target') }
  const cursor = param('cursor')
  const audit = useLive(auditQuery(filter, cursor))
  const scope = useShownScope(audit, `${JSON.stringify(filter)} ${cursor ?? ''}`)
  useRowKeys()
  return (
    <Page title="Audit">
      <Filter
        filter={filter}
        search={(next) => {
          set({ ...next, cursor: undefined })
        }}
      />
      <Loaded query={audit} isEmpty={(page) => page.items.length === 0} empty="No audit entries match.">
        {(page) => <List page={page} scope={scope} />}
      </Loaded>
    </Page>
  )
}

type FilterValues = Record<(typeof fields)[number], string | undefined>

function Filter({ filter, search }: { filter: FilterValues; search: (filter: FilterValues) => void }) {
  const [values, setValues] = useState(filter)
  const text = JSON.stringify(filter)
  useLayoutEffect(() => {
    setValues(JSON.parse(text) as FilterValues)
  }, [text])
  return (
    <form
      className="filters"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        search(values)
      }}
    >
      {fields.map((name, index) => (
        <label key={name}>
          <span>{name}</span>
          <input
            {...(index === 0 && { 'data-filter': true })}
            value={values[name] ?? ''}
            placeholder={name === 'action' ? 'job.replay' : ''}
            autoComplete="off"
            onInput={(event) => {
              setValues({ ...values, [name]: event.currentTarget.value })
            }}
          />
        </label>
      ))}
      <button type="submit" className="button">
        Filter
      </button>
    </form>
  )
}

function List({ page, scope }: { page: AuditPage; scope: string }) {
  const { rows, waiting, letIn } = useHeld(page.items, (item) => item.id, scope, true)
  return (
    <>
      <ListSum
        count={plural(rows.length, 'entry', 'entries')}
        next={page.next}
        waiting={waiting}
        letIn={letIn}
      />
      <div className="table-scroll" tabIndex={0} role="region" aria-label="Audit">
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Who</th>
              <th scope="col">From</th>
              <th scope="col">Action</th>
              <th scope="col">Target</th>
              <th scope="col">Outcome</th>
              <th scope="col">Reason</th>
              <th scope="col">Change</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ item, key }) => (
              <tr key={key} data-row={key}>
                <td>
                  <Time at={item.at} />
                </td>
                <th scope="row" className="clip">
                  {item.actor} <span className="muted">{item.role}</span>
                </th>
                <td>{item.origin}</td>
                <td>{item.action}</td>
                <td className="clip">
                  <Target item={item} />
                </td>
                <td>
                  {item.outcome === 'refused' ? (
                    <span className="state state-dead">
                      <Icon name="dead" /> refused
                    </span>
                  ) : (
                    'done'
                  )}
                </td>
                <td className="clip wide">{item.reason}</td>
                <td>
                  <Change item={item} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Pager next={page.next} />
    </>
  )
}

function Target({ item }: { item: AuditItem }) {
  if (item.operationId !== null) {
    return (
      <Link data-row-link href={`/operations/${item.operationId}`}>
        operation {shortId(item.operationId)}
      </Link>
    )
  }
  if (item.action.startsWith('operation') && isUuid(item.target)) {
    return (
      <Link data-row-link href={`/operations/${item.target}`}>
        {shortId(item.target)}
      </Link>
    )
  }
  if (isUuid(item.target)) {
    return (
      <Link data-row-link className="id" href={`/jobs/${item.target}`} title={item.target}>
        {shortId(item.target)}
      </Link>
    )
  }
  return <span title={item.target}>{item.target}</span>
}

function Change({ item }: { item: AuditItem }) {
  const [before, after] = [pretty(item.before ?? undefined), pretty(item.after ?? undefined)]
  if (before === '' && after === '') return <span className="muted">–</span>
  return (
    <details>
      <summary>before and after</summary>
      <pre tabIndex={0} aria-label="Change">
        {before === '' ? '' : `before ${before}\n`}
        {after === '' ? '' : `after ${after}`}
        {item.requestId === null ? '' : `\nrequest ${item.requestId}`}
        {item.login === null ? '' : `\nlogin ${item.login}`}
      </pre>
    </details>
  )
}
