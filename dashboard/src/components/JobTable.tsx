import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { JobItem } from '../api/jobs.ts'
import { span } from '../text/format.ts'
import { query } from '../url/use-url.ts'
import { whereOf } from '../text/where.ts'
import { StateBadge } from './StateBadge.tsx'
import { Time } from './Time.tsx'

export interface JobRow {
  item: JobItem
  key: string
  isGone: boolean
}

/** A table of jobs: kind, state, and the time that matters for the state. */
export function JobTable({
  rows,
  selected,
  toggle,
  label = 'Jobs',
}: {
  rows: readonly JobRow[]
  selected?: ReadonlySet<string>
  toggle?: (id: string) => void
  label?: string
}) {
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={label}>
      <table className="rows jobs">
        <thead>
          <tr>
            {toggle === undefined ? null : (
              <th scope="col" className="tick">
                <span className="visually-hidden">Selected</span>
              </th>
            )}
            <th scope="col">Job</th>
            <th scope="col">State</th>
            <th scope="col">Kind</th>
            <th scope="col">Queue</th>
            <th scope="col">Key</th>
            <th scope="col" className="num">
              Attempt
            </th>
            <th scope="col">When</th>
            <th scope="col" className="num">
              Took
            </th>
            <th scope="col">What happened</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ item, key, isGone }) => (
            <tr key={key} data-row={key} className={isGone ? 'gone' : ''} aria-selected={selected?.has(key)}>
              {toggle === undefined ? null : (
                <td className="tick">
                  <label>
                    <input
                      type="checkbox"
                      checked={selected?.has(key) ?? false}
                      aria-label={`Select job ${key}`}
                      onChange={() => {
                        toggle(key)
                      }}
                    />
                  </label>
                </td>
              )}
              <th scope="row">
                <Link
                  data-row-link
                  className="id"
                  href={`/jobs/${item.id}`}
                  title={item.id}
                  aria-label={`Job ${item.id}`}
                >
                  {item.id.slice(-12)}
                </Link>
              </th>
              <td>
                <StateBadge state={item.state} note={noteOf(item)} />
              </td>
              <td className="clip">{item.kind}</td>
              <td className="clip">
                <Link className="plain" href={`/queues/${encodeURIComponent(item.queue)}`}>
                  {item.queue}
                </Link>
              </td>
              <td className="clip">
                {item.key === null ? null : (
                  <Link
                    className="plain"
                    href={`/jobs${query({ where: whereOf({ queue: item.queue, key: item.key }) })}`}
                  >
                    {item.key}
                  </Link>
                )}
              </td>
              <td className="num">
                {item.attempt}
                <span className="muted">/{item.maxAttempts}</span>
              </td>
              <td>{when(item)}</td>
              <td className="num">{took(item)}</td>
              <td className="clip wide">{happened(item)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function noteOf({ discardedAt, broken }: JobItem): string | null {
  if (broken.length > 0) return 'invalid row'
  return discardedAt === null ? null : 'in trash'
}

function when(job: JobItem): ReactNode {
  switch (job.state) {
    case 'scheduled':
    case 'retrying':
      return (
        <>
          <span className="muted">due</span> <Time at={job.runAt} />
        </>
      )
    case 'running':
      return (
        <>
          <span className="muted">since</span> <Time at={job.startedAt} />
        </>
      )
    case 'ready':
    case 'waiting':
      return (
        <>
          <span className="muted">since</span> <Time at={job.runAt} />
        </>
      )
    case 'succeeded':
    case 'cancelled':
    case 'dead':
      return <Time at={job.finishedAt ?? job.createdAt} />
  }
}

function took(job: JobItem): ReactNode {
  if (job.startedAt === null || job.finishedAt === null) return <span className="muted">–</span>
  return span(Date.parse(job.finishedAt) - Date.parse(job.startedAt))
}

function happened(job: JobItem): ReactNode {
  if (job.cancelRequestedAt !== null && job.state === 'running') return 'cancel requested'
  if (job.error !== null) {
    return (
      <>
        <strong>{job.error.name ?? 'Error'}</strong> {job.error.message}
      </>
    )
  }
  if (job.replacedBy !== null) return 'edited and replayed'
  return job.reason === null ? null : <span className="muted">{job.reason}</span>
}
