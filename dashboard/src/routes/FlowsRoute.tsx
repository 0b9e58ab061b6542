import { Link } from 'wouter'
import { flowsQuery } from '../api/flows.ts'
import type { FlowList } from '../api/flows.ts'
import { useLive } from '../api/use-live.ts'
import { CountsBar } from '../components/CountsBar.tsx'
import { FlowState } from '../components/FlowState.tsx'
import { ListSum } from '../components/ListSum.tsx'
import { Loaded } from '../components/Loaded.tsx'
import { Page } from '../components/Page.tsx'
import { Pager } from '../components/Pager.tsx'
import { Time } from '../components/Time.tsx'
import { useHeld, useShownScope } from '../components/use-held.ts'
import { useRowKeys } from '../components/use-row-keys.ts'
import { plural, shortId, whole } from '../text/format.ts'
import { useUrl } from '../url/use-url.ts'

export function FlowsRoute() {
  const { param, href } = useUrl()
  const isOpen = param('open') !== undefined
  const filter = { cursor: param('cursor'), isOpen, name: param('name') }
  const flows = useLive(flowsQuery(filter))
  const scope = useShownScope(flows, JSON.stringify(filter))
  useRowKeys()
  return (
    <Page
      title="Flows"
      actions={
        <Link
          className="button"
          href={href({ open: isOpen ? undefined : '1', cursor: undefined })}
          aria-current={isOpen}
        >
          {isOpen ? 'Show all' : 'Only open'}
        </Link>
      }
    >
      <Loaded
        query={flows}
        isEmpty={(list) => list.items.length === 0 && list.next === null}
        empty={
          <>
            <p>There are no {isOpen ? 'open ' : ''}flows.</p>
            <p className="muted">A flow is a set of jobs that start after other jobs have ended.</p>
          </>
        }
      >
        {(list) => <List list={list} scope={scope} />}
      </Loaded>
    </Page>
  )
}

function List({ list, scope }: { list: FlowList; scope: string }) {
  const { href } = useUrl()
  const { rows, waiting, letIn } = useHeld(list.items, (item) => item.id, scope)
  return (
    <>
      <ListSum count={plural(rows.length, 'flow')} next={list.next} waiting={waiting} letIn={letIn} />
      <div className="table-scroll" tabIndex={0} role="region" aria-label="Flows">
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">Flow</th>
              <th scope="col">State</th>
              <th scope="col">Jobs</th>
              <th scope="col" className="num">
                Ended
              </th>
              <th scope="col" className="num">
                Dead
              </th>
              <th scope="col">Created</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ item, key, isGone }) => (
              <tr key={key} data-row={key} className={isGone ? 'gone' : ''}>
                <th scope="row" className="clip">
                  <Link data-row-link href={`/flows/${key}`}>
                    {item.name} <span className="id">{shortId(key)}</span>
                  </Link>{' '}
                  <Link className="muted" href={href({ name: item.name, cursor: undefined })}>
                    alike
                  </Link>
                </th>
                <td>
                  <FlowState flow={item} />
                </td>
                <td>
                  <CountsBar counts={item} />
                </td>
                <td className="num">
                  {whole(item.total - item.remaining)} of {whole(item.total)}
                </td>
                <td className={`num ${item.dead > 0 ? 'bad' : ''}`}>{whole(item.dead)}</td>
                <td>
                  <Time at={item.createdAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Pager next={list.next} />
    </>
  )
}
