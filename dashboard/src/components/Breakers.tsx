import { Link } from 'wouter'
import { breakerQuery, breakersQuery } from '../api/breakers.ts'
import type { BreakerDetail, BreakerItem } from '../api/breakers.ts'
import { useLive } from '../api/use-live.ts'
import { percent, plural, span, whole } from '../text/format.ts'
import { shell } from '../text/shell.ts'
import { query, useUrl } from '../url/use-url.ts'
import { BreakerActions } from './BreakerActions.tsx'
import { BreakerFailures, BreakerNext, BreakerState } from './BreakerState.tsx'
import { Icon } from './Icon.tsx'
import { Loaded } from './Loaded.tsx'
import { coversText, RuleTable } from './RuleTable.tsx'
import type { RuleColumn } from './RuleTable.tsx'
import { Time } from './Time.tsx'
import { useShownScope } from './use-held.ts'

const columns: readonly RuleColumn<BreakerItem>[] = [
  { head: 'State', cell: (item) => <BreakerState breaker={item} /> },
  { head: 'Failures', cell: (item) => <BreakerFailures breaker={item} /> },
  { head: 'Next', cell: (item) => <BreakerNext breaker={item} /> },
  { head: 'Covers', text: coversText },
  { head: 'Forced', cell: (item) => <Forced breaker={item} /> },
  { head: 'Source', cell: ({ source }) => (source === 'code' ? 'code' : 'by hand') },
]

/** All breakers by name. */
export function Breakers() {
  const { param, href } = useUrl()
  const breakers = useLive(breakersQuery({ cursor: param('breakers') }))
  const scope = useShownScope(breakers, param('breakers') ?? '')
  return (
    <Loaded query={breakers}>
      {({ items, next }) => (
        <>
          <RuleTable
            type="breaker"
            items={items}
            scope={scope}
            label="Breakers"
            columns={columns}
            detail={(name) => <Detail name={name} />}
            empty={
              <>
                No breakers. <code>defineBreaker()</code> in a worker's code makes one.
              </>
            }
          />
          {next === null ? null : (
            <Link className="button" href={href({ breakers: next })}>
              More breakers <Icon name="right" />
            </Link>
          )}
        </>
      )}
    </Loaded>
  )
}

function Forced({ breaker: { forced } }: { breaker: BreakerItem }) {
  if (forced === null) return <span className="muted">–</span>
  return (
    <span className="tag tag-warn" title={forced.reason ?? undefined}>
      until <Time at={forced.until} exact />
      {forced.by === null ? null : ` by ${forced.by}`}
    </span>
  )
}

function Detail({ name }: { name: string }) {
  const breaker = useLive(breakerQuery(name))
  return (
    <Loaded query={breaker}>
      {(answer) => (
        <div className="group">
          <p>
            {ruleText(answer)}
            {answer.forced === null || answer.forced.reason === null ? null : (
              <span className="muted"> Forced: “{answer.forced.reason}”.</span>
            )}
          </p>
          <BreakerActions breaker={answer} />
          <Changes breaker={answer} />
        </div>
      )}
    </Loaded>
  )
}

function ruleText({ share, least, windowMs, openMs, mostOpenMs, probes, counts }: BreakerDetail): string {
  const opens = `Opens when ${percent(share)} of at least ${plural(least, 'call')} fail within ${span(windowMs)}.`
  const longest = mostOpenMs > openMs ? `, then twice as long each time, up to ${span(mostOpenMs)}` : ''
  return `${opens} Stays open for ${span(openMs)}${longest}. Closes after ${plural(probes, 'probe')}. Counts: ${counts.join(', ')}.`
}

/** As many as fit a screen; the command line shows all. */
const shownChanges = 20

function Changes({ breaker: { name, recent } }: { breaker: BreakerDetail }) {
  return (
    <div className="stack">
      <h2>Changes of the last 30 days</h2>
      {recent.length === 0 ? <p className="muted">Its state has not changed.</p> : null}
      {recent.length === 0 ? null : (
        <div className="table-scroll" tabIndex={0} role="region" aria-label={`Changes of ${name}`}>
          <table>
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Change</th>
                <th scope="col">By</th>
                <th scope="col">Why</th>
              </tr>
            </thead>
            <tbody>
              {recent.slice(0, shownChanges).map((change, place) => (
                <tr key={`${change.at ?? ''} ${place}`}>
                  <td>
                    <Time at={change.at} />
                  </td>
                  <td>{change.was === change.state ? change.state : `${change.was} → ${change.state}`}</td>
                  <td>{change.by ?? <span className="muted">its calls</span>}</td>
                  <td className="wrap">
                    <Cause cause={change.cause} reason={change.reason} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {recent.length > shownChanges ? (
        <p className="muted">
          and {whole(recent.length - shownChanges)} more:{' '}
          <code>{shell('stint', 'breaker', 'get', name)}</code>
        </p>
      ) : null}
    </div>
  )
}

function Cause({ cause, reason }: Pick<BreakerDetail['recent'][number], 'cause' | 'reason'>) {
  const { failed, of, error, fingerprint, probed, until } = cause ?? {}
  const words = [
    ...(failed === undefined || of === undefined ? [] : [`${whole(failed)}/${whole(of)} failed`]),
    ...(probed === undefined ? [] : [`${plural(probed, 'probe')} succeeded`]),
    ...(error === undefined ? [] : [error]),
    ...(reason === null ? [] : [`“${reason}”`]),
  ]
  return (
    <>
      {words.join(': ')}{' '}
      {until === undefined ? null : (
        <span className="muted">
          until <Time at={until} exact />
        </span>
      )}
      {fingerprint !== undefined && /^[\da-f]{8,64}$/.test(fingerprint) ? (
        <Link href={`/dead${query({ group: fingerprint })}`}>Error group</Link>
      ) : null}
    </>
  )
}
