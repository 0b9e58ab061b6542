import { Fragment } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useUrl } from '../url/use-url.ts'
import { NewRows } from './NewRows.tsx'
import { useHeld } from './use-held.ts'

export interface RuleColumn<Item> {
  head: string
  isNumber?: boolean
  /** A text that is cut off at the width of its column; the tooltip has all of it. */
  text?: (item: Item) => string
  cell?: (item: Item) => ReactNode
}

/** Rules by name. The name opens a rule's details below its row; the URL says which is open. */
export function RuleTable<Item extends { name: string }>({
  type,
  items,
  scope,
  label,
  columns,
  detail,
  empty,
}: {
  /** The parameter of the URL that names the open rule. */
  type: 'limit' | 'breaker'
  items: readonly Item[]
  scope: string
  label: string
  columns: readonly RuleColumn<Item>[]
  detail: (name: string) => ReactNode
  empty: ReactNode
}) {
  const { param, href } = useUrl()
  const { rows, waiting, letIn } = useHeld(items, (item) => item.name, scope)
  const open = param(type)
  if (rows.length === 0 && waiting === 0) return <p className="muted">{empty}</p>
  const closed = { limit: undefined, breaker: undefined, panel: undefined, keys: undefined }
  return (
    <>
      <NewRows waiting={waiting} letIn={letIn} />
      <div className="table-scroll" tabIndex={0} role="region" aria-label={label}>
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">Name</th>
              {columns.map(({ head, isNumber }) => (
                <th key={head} scope="col" className={isNumber === true ? 'num' : ''}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ item, key, isGone }) => (
              <Fragment key={key}>
                <tr data-row={key} className={isGone ? 'gone' : ''} aria-selected={open === key}>
                  <th scope="row">
                    <Link
                      data-row-link
                      className="name"
                      title={key}
                      href={href(open === key ? closed : { ...closed, [type]: key })}
                      aria-expanded={open === key}
                    >
                      {key}
                    </Link>
                  </th>
                  {columns.map(({ head, isNumber, text, cell }) =>
                    text === undefined ? (
                      <td key={head} className={isNumber === true ? 'num' : ''}>
                        {cell?.(item)}
                      </td>
                    ) : (
                      <td key={head} className="clip" title={text(item)}>
                        {text(item)}
                      </td>
                    ),
                  )}
                </tr>
                {open === key ? (
                  <tr className="opened">
                    <td colSpan={columns.length + 1}>{detail(key)}</td>
                  </tr>
                ) : null}
              </Fragment>
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

/** The queues of a rule, with the kinds that it is limited to: `mail (mail.send), exports`. */
export function coversText({
  covers,
}: {
  covers: readonly { queue: string; kinds: readonly string[] | null }[]
}): string {
  return covers
    .map(({ queue, kinds }) =>
      kinds === null || kinds.length === 0 ? queue : `${queue} (${kinds.join(', ')})`,
    )
    .join(', ')
}
