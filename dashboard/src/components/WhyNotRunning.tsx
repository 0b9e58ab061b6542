import { useRef } from 'react'
import { Link } from 'wouter'
import { whyQuery } from '../api/jobs.ts'
import type { JobDetail, Why, WhyPredicate } from '../api/jobs.ts'
import { useLive } from '../api/use-live.ts'
import { useKeys } from '../keys.ts'
import { shortId, span } from '../text/format.ts'
import { Icon } from './Icon.tsx'
import { Loaded } from './Loaded.tsx'

/** The conditions of a claim, for a job that waits; the sentences are those of the API. */
export function WhyNotRunning({ job }: { job: JobDetail }) {
  const why = useLive(whyQuery(job.id))
  const section = useRef<HTMLElement>(null)
  useKeys([
    {
      key: 'w',
      label: 'why this job does not run',
      run: () => {
        section.current?.scrollIntoView({ block: 'center' })
        section.current?.focus()
      },
    },
  ])
  const startsInMs = why.data?.startsInMs
  return (
    <section className="card why" ref={section} tabIndex={-1} aria-labelledby="why-title">
      <div className="card-head">
        <h2 id="why-title">Why not running?</h2>
        {startsInMs === undefined ? null : <div className="card-aside">starts in ≈ {span(startsInMs)}</div>}
      </div>
      <Loaded query={why}>{(answer) => <Conditions why={answer} />}</Loaded>
    </section>
  )
}

function Conditions({ why: { predicates, first } }: { why: Why }) {
  const failing = predicates.filter(({ holds }) => holds === false)
  const said = failing.length > 0 ? failing : predicates.filter(({ name }) => name === 'visible')
  return (
    <>
      <ul className="why-list">
        {predicates.map((predicate) => (
          <li key={predicate.name} className={classOf(predicate)}>
            {predicate.holds === null ? (
              <span className="why-dash" aria-hidden="true">
                –
              </span>
            ) : (
              <Icon name={predicate.holds ? 'succeeded' : 'dead'} />
            )}
            {predicate.name}
            <span className="visually-hidden">: {words(predicate)}</span>
          </li>
        ))}
      </ul>
      <dl className="why-said">
        {said.map((predicate) => (
          <div key={predicate.name} className={predicate.name === first ? 'why-first' : ''}>
            <dt>{predicate.name}</dt>
            <dd>
              {predicate.says}
              <Holders predicate={predicate} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  )
}

const mostHolders = 5

function Holders({ predicate: { holders = [] } }: { predicate: WhyPredicate }) {
  if (holders.length === 0) return null
  return (
    <ul className="why-holders" aria-label="Jobs in the way">
      {holders.slice(0, mostHolders).map(({ id, kind, state, heldMs }) => (
        <li key={id}>
          <Link href={`/jobs/${id}`}>
            <span className="id">{shortId(id)}</span> {kind}
          </Link>{' '}
          <span className="muted">{heldMs === null ? state : `${state} ${span(heldMs)}`}</span>
        </li>
      ))}
    </ul>
  )
}

function classOf({ holds }: WhyPredicate): string {
  return holds === null ? 'why-open' : holds ? 'why-holds' : 'why-fails'
}

function words({ holds }: WhyPredicate): string {
  return holds === null ? 'not judged' : holds ? 'holds' : 'does not hold'
}
