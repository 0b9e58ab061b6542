import { Link } from 'wouter'
import { breakersQuery } from '../api/breakers.ts'
import { limitsQuery } from '../api/limits.ts'
import type { QueueDetails } from '../api/queues.ts'
import { useLive } from '../api/use-live.ts'
import { percent, plural, span } from '../text/format.ts'
import { query } from '../url/use-url.ts'
import { BreakerFailures, BreakerNext, BreakerState } from './BreakerState.tsx'
import { LimitUse } from './LimitUse.tsx'
import { Section } from './Page.tsx'

/** The limits, rates, breakers and retry budget that hold for a queue. */
export function QueueRules({ detail: { queue, retryBudget } }: { detail: QueueDetails }) {
  const { data: limits } = useLive(limitsQuery({ queue }))
  const { data: breakers } = useLive(breakersQuery({ queue }))
  if (limits === undefined || breakers === undefined) return null
  const rules = [
    ...limits.items.map((item) => ({
      name: item.name,
      type: item.type === 'rate' ? 'Rate' : 'Limit',
      href: `/limits${query({ limit: item.name })}`,
      level: <LimitUse item={item} />,
      kinds: kindsOf(item, queue),
    })),
    ...breakers.items.map((item) => ({
      name: item.name,
      type: 'Breaker',
      href: `/limits${query({ breaker: item.name })}`,
      level: (
        <span className="rule-now">
          <span>
            <BreakerState breaker={item} />
          </span>
          <span>
            <BreakerFailures breaker={item} />
          </span>
          {item.state === 'closed' && item.forced === null ? null : <BreakerNext breaker={item} />}
        </span>
      ),
      kinds: kindsOf(item, queue),
    })),
  ]
  if (rules.length === 0 && retryBudget === null)
    return <p className="muted">No limit, rate, breaker or retry budget holds for this queue.</p>
  return (
    <Section title="Limits, breakers and retry budget">
      <p className="list-sum">{budgetText(retryBudget)}</p>
      {rules.length === 0 ? null : (
        <div className="table-scroll" tabIndex={0} role="region" aria-label="Rules of this queue">
          <table className="rows">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Type</th>
                <th scope="col">Now</th>
                <th scope="col">Kinds</th>
              </tr>
            </thead>
            <tbody>
              {rules.map(({ name, type, href, level, kinds }) => (
                <tr key={href} data-row>
                  <th scope="row">
                    <Link data-row-link className="name" title={name} href={href}>
                      {name}
                    </Link>
                  </th>
                  <td>{type}</td>
                  <td>{level}</td>
                  <td className="clip" title={kinds}>
                    {kinds}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Section>
  )
}

function budgetText(budget: QueueDetails['retryBudget']): string {
  if (budget === null) return 'No retry budget: retries come at their own times.'
  const least = plural(budget.least, 'retry', 'retries')
  return `Retry budget: at most ${percent(budget.share)} of first attempts + ${least} in ${span(budget.windowMs)}.`
}

function kindsOf(
  { covers }: { covers: readonly { queue: string; kinds: readonly string[] | null }[] },
  queue: string,
): string {
  return covers.find((cover) => cover.queue === queue)?.kinds?.join(', ') ?? 'all'
}
