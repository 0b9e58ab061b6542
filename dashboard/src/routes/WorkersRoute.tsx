import { Link } from 'wouter'
import { leasesQuery, workersQuery } from '../api/system.ts'
import type { LeaseList, WorkerItem, WorkerList } from '../api/system.ts'
import { useLive } from '../api/use-live.ts'
import { Icon } from '../components/Icon.tsx'
import { Loaded } from '../components/Loaded.tsx'
import { Meter } from '../components/Meter.tsx'
import { NewRows } from '../components/NewRows.tsx'
import { OfSlots } from '../components/OfSlots.tsx'
import { Page, Section } from '../components/Page.tsx'
import { Age, Time, Until } from '../components/Time.tsx'
import { useHeld } from '../components/use-held.ts'
import { useMe } from '../components/use-me.ts'
import { useRowKeys } from '../components/use-row-keys.ts'
import { WorkerButtons, WorkerDialog } from '../components/WorkerActions.tsx'
import { bytes, plural, shortId, slotsText, span, whole } from '../text/format.ts'
import { token } from '../text/where.ts'
import { query } from '../url/use-url.ts'

export function WorkersRoute() {
  const workers = useLive(workersQuery())
  const leases = useLive(leasesQuery())
  useRowKeys()
  return (
    <Page title="Workers">
      <Loaded
        query={workers}
        isEmpty={(list) => list.items.length === 0}
        empty={
          <>
            <p>No worker is alive or was alive in the last hour.</p>
            <p className="muted">
              <code>stint work worker.ts</code> starts one.
            </p>
          </>
        }
      >
        {(list) => <Fleet list={list} />}
      </Loaded>
      <Section title="Running jobs, by lease">
        <Loaded query={leases} isEmpty={(list) => list.items.length === 0} empty="No running jobs.">
          {(list) => <Leases list={list} />}
        </Loaded>
      </Section>
      {workers.data === undefined ? null : <Services list={workers.data} />}
    </Page>
  )
}

function Fleet({ list }: { list: WorkerList }) {
  const { can } = useMe()
  const canOrder = can('queue.edit')
  const { rows, waiting, letIn } = useHeld(list.items, (item) => item.id)
  const living = list.items.filter((item) => item.status !== 'lost')
  const alive = living.filter((item) => !isForOperations(item))
  const slots = alive.reduce((sum, item) => sum + slotsOf(item), 0)
  const running = alive.reduce((sum, item) => sum + item.running, 0)
  const versions = new Map<string, number>()
  for (const item of alive)
    versions.set(item.version ?? 'unknown', (versions.get(item.version ?? 'unknown') ?? 0) + 1)
  return (
    <>
      <p className="list-sum">
        <span>
          {plural(alive.length, 'worker')}
          {living.length > alive.length ? `, and ${whole(living.length - alive.length)} for operations` : ''}
        </span>
        <span>
          {whole(running)} running {slotsText(running, slots)}
        </span>
        <span>{[...versions].map(([version, count]) => `${version} ×${count}`).join(', ')}</span>
        <span>leader: {list.leader === null ? 'none' : shortId(list.leader.workerId)}</span>
        <NewRows waiting={waiting} letIn={letIn} />
      </p>
      <div className="table-scroll" tabIndex={0} role="region" aria-label="Workers">
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">Worker</th>
              <th scope="col">State</th>
              {canOrder ? <th scope="col">Actions</th> : null}
              <th scope="col">Host</th>
              <th scope="col">Version</th>
              <th scope="col">Queues</th>
              <th scope="col" className="num">
                Running
              </th>
              <th scope="col" className="num">
                Memory
              </th>
              <th scope="col" className="num">
                Heartbeat
              </th>
              <th scope="col" className="num">
                Lease
              </th>
              <th scope="col">Up since</th>
              <th scope="col">Kinds</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ item, key, isGone }) => (
              <tr key={key} data-row={key} className={isGone || item.status === 'lost' ? 'gone' : ''}>
                <th scope="row">
                  <Link
                    data-row-link
                    className="id"
                    href={`/jobs${query({ where: token('worker', key) })}`}
                    title={key}
                  >
                    {shortId(key)}
                  </Link>
                  {item.isLeader ? <span className="tag">leader</span> : null}
                  {isForOperations(item) ? <span className="tag">operations</span> : null}
                </th>
                <td className="clip" title={item.wanted?.reason ?? undefined}>
                  <WorkerState item={item} />
                </td>
                {canOrder ? <td>{isGone ? null : <WorkerButtons worker={item} />}</td> : null}
                <td className="clip">
                  {item.host ?? '–'}
                  {item.pid === null ? '' : `/${item.pid}`}
                </td>
                <td>{item.version ?? '–'}</td>
                <td className="clip">
                  {Object.entries(item.queues)
                    .map(([queue, count]) => `${queue}×${count}`)
                    .join(' ')}
                </td>
                <td className="num">
                  {whole(item.running)}
                  <OfSlots running={item.running} slots={slotsOf(item)} />
                </td>
                <td className="num">{item.rssBytes === null ? '–' : bytes(item.rssBytes)}</td>
                <td className="num">
                  <Age since={item.renewedAt} />
                </td>
                <td className="num">
                  {item.status === 'lost' ? (
                    <span className="muted">ended</span>
                  ) : (
                    <Until at={item.leaseUntil} />
                  )}
                </td>
                <td>
                  <Time at={item.startedAt} />
                </td>
                <td className="clip" title={item.kinds.join(', ')}>
                  {plural(item.kinds.length, 'kind')}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {canOrder ? <WorkerDialog workers={list.items} /> : null}
    </>
  )
}

/** Whether a worker only executes operations. It runs no jobs of the app, and the overview does not count it. */
function isForOperations(item: WorkerItem): boolean {
  return Object.keys(item.queues).join() === 'stint'
}

function slotsOf(item: WorkerItem): number {
  return Object.values(item.queues).reduce((sum, count) => sum + count, 0)
}

function WorkerState({ item }: { item: WorkerItem }) {
  switch (item.status) {
    case 'active':
      return item.wanted === null ? (
        <span className="state state-running">
          <Icon name="running" /> active
        </span>
      ) : (
        <span className="state state-retrying">
          <Icon name="warn" /> {item.wanted.state}
          {item.wanted.reason === null ? '' : ` (${item.wanted.reason})`}
        </span>
      )
    case 'late':
      return (
        <span className="state state-retrying">
          <Icon name="warn" /> late
        </span>
      )
    case 'lost':
      return (
        <span className="state state-dead">
          <Icon name="dead" /> lost{item.death === null ? '' : ` (${item.death})`}
        </span>
      )
  }
}

function Leases({ list }: { list: LeaseList }) {
  const { rows, waiting, letIn } = useHeld(list.items, (item) => item.jobId)
  return (
    <>
      <p className="list-sum">
        <span>
          {plural(list.items.length, 'job')}
          {list.more ? ' and more' : ''}
        </span>
        <NewRows waiting={waiting} letIn={letIn} />
      </p>
      <div className="table-scroll" tabIndex={0} role="region" aria-label="Leases">
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">Job</th>
              <th scope="col">Kind</th>
              <th scope="col">Queue</th>
              <th scope="col">Key</th>
              <th scope="col">Worker</th>
              <th scope="col" className="num">
                Epoch
              </th>
              <th scope="col" className="num">
                Attempt
              </th>
              <th scope="col" className="num">
                Held
              </th>
              <th scope="col" className="num">
                Lease
              </th>
              <th scope="col">Progress</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ item, key, isGone }) => (
              <tr key={key} data-row={key} className={isGone ? 'gone' : ''}>
                <th scope="row">
                  <Link data-row-link className="id" href={`/jobs/${key}`} title={key}>
                    {key.slice(-12)}
                  </Link>
                </th>
                <td className="clip">{item.kind}</td>
                <td className="clip">{item.queue}</td>
                <td className="clip">{item.key}</td>
                <td className="id">{shortId(item.workerId)}</td>
                <td className="num">{item.epoch}</td>
                <td className="num">{item.attempt}</td>
                <td className="num">{item.startedAt === null ? '–' : <Age since={item.startedAt} />}</td>
                <td className="num">
                  {item.leaseUntil === null ? '–' : isGone ? 'ended' : <Until at={item.leaseUntil} />}
                </td>
                <td>
                  {item.cancelRequestedAt === null ? null : 'cancel requested '}
                  {item.progress === null ? null : (
                    <>
                      <Meter value={item.progress} of={100} /> {Math.round(item.progress)}%
                    </>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

function Services({ list }: { list: WorkerList }) {
  if (list.services.length === 0) return null
  return (
    <Section title="Maintenance services">
      <div className="table-scroll" tabIndex={0} role="region" aria-label="Services">
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">Service</th>
              <th scope="col">Last success</th>
              <th scope="col" className="num">
                Took
              </th>
              <th scope="col">Last error</th>
            </tr>
          </thead>
          <tbody>
            {list.services.map((service) => (
              <tr key={service.name}>
                <th scope="row">{service.name}</th>
                <td>
                  <Time at={service.lastOkAt} />
                </td>
                <td className="num">{service.tookMs === null ? '–' : span(service.tookMs)}</td>
                <td className="clip wide">
                  {service.lastError === null ? (
                    <span className="muted">none</span>
                  ) : (
                    <>
                      {service.lastError} <Time at={service.lastErrorAt} />
                    </>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  )
}
