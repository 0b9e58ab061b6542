import { diedAgain } from '../../../src/core/operation.ts'
import { Link } from 'wouter'
import { operationsQuery } from '../api/operations.ts'
import type { OperationPage } from '../api/operations.ts'
import { useLive } from '../api/use-live.ts'
import { ListSum } from '../components/ListSum.tsx'
import { Loaded } from '../components/Loaded.tsx'
import { verbs } from '../components/OperationDialog.tsx'
import { OperationProgress } from '../components/OperationProgress.tsx'
import { OperationState } from '../components/OperationState.tsx'
import { Page } from '../components/Page.tsx'
import { Pager } from '../components/Pager.tsx'
import { Time } from '../components/Time.tsx'
import { useHeld, useShownScope } from '../components/use-held.ts'
import { useRowKeys } from '../components/use-row-keys.ts'
import { plural, shortId, whole } from '../text/format.ts'
import { useUrl } from '../url/use-url.ts'

export function OperationsRoute() {
  const { param } = useUrl()
  const cursor = param('cursor')
  const operations = useLive(operationsQuery(cursor))
  const scope = useShownScope(operations, cursor ?? '')
  useRowKeys()
  return (
    <Page title="Operations">
      <Loaded
        query={operations}
        isEmpty={(page) => page.items.length === 0}
        empty={
          <>
            <p>No operations yet.</p>
            <p className="muted">
              An operation starts from a selection or a filter in Jobs, or from a group in Dead letters.
            </p>
          </>
        }
      >
        {(page) => <List page={page} scope={scope} />}
      </Loaded>
    </Page>
  )
}

function List({ page, scope }: { page: OperationPage; scope: string }) {
  const { rows, waiting, letIn } = useHeld(page.items, (item) => item.id, scope)
  return (
    <>
      <ListSum count={plural(rows.length, 'operation')} next={page.next} waiting={waiting} letIn={letIn} />
      <div className="table-scroll" tabIndex={0} role="region" aria-label="Operations">
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">Operation</th>
              <th scope="col">State</th>
              <th scope="col">Progress</th>
              <th scope="col" className="num">
                Acted
              </th>
              <th scope="col" className="num">
                Skipped
              </th>
              <th scope="col" className="num">
                Failed
              </th>
              <th scope="col" className="num">
                Died again
              </th>
              <th scope="col">On</th>
              <th scope="col">Who and why</th>
              <th scope="col">Started</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ item, key, isGone }) => (
              <tr key={key} data-row={key} className={isGone ? 'gone' : ''}>
                <th scope="row">
                  <Link data-row-link className="name" href={`/operations/${item.id}`}>
                    {verbs[item.action]}
                  </Link>{' '}
                  <span className="muted id">{shortId(item.id)}</span>
                </th>
                <td>
                  <OperationState operation={item} />
                </td>
                <td>
                  <OperationProgress operation={item} />
                </td>
                <td className="num">{whole(item.acted)}</td>
                <td className="num">{whole(item.skipped)}</td>
                <td className={`num ${item.failed > 0 ? 'bad' : ''}`}>{whole(item.failed)}</td>
                <td className={`num ${diedAgain(item.fates) > 0 ? 'bad' : ''}`}>
                  {item.fates === null ? '–' : whole(diedAgain(item.fates))}
                </td>
                <td className="clip">
                  <code>{item.where ?? plural(item.ids, 'job')}</code>
                </td>
                <td className="clip wide">
                  {item.actor} <span className="muted">{item.reason}</span>
                </td>
                <td>
                  <Time at={item.createdAt} />
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
