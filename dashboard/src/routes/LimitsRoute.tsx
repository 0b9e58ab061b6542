import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { keyRulesQuery, limitQuery, limitsQuery } from '../api/limits.ts'
import type { LimitDetail, LimitItem, LimitList } from '../api/limits.ts'
import { useLive } from '../api/use-live.ts'
import { Icon } from '../components/Icon.tsx'
import { KeyRuleActions, LimitActions } from '../components/LimitActions.tsx'
import { Loaded } from '../components/Loaded.tsx'
import { Meter } from '../components/Meter.tsx'
import { Page, Section } from '../components/Page.tsx'
import { Pager } from '../components/Pager.tsx'
import { Age, Time } from '../components/Time.tsx'
import { NewRows } from '../components/NewRows.tsx'
import { useHeld, useShownScope } from '../components/use-held.ts'
import { useRowKeys } from '../components/use-row-keys.ts'
import { estimateText, plural, shortId, span, whole } from '../text/format.ts'
import { token } from '../text/where.ts'
import { query, useUrl } from '../url/use-url.ts'

export function LimitsRoute() {
  const { param } = useUrl()
  const limits = useLive(limitsQuery(param('cursor')))
  const scope = useShownScope(limits, param('cursor') ?? '')
  useRowKeys()
  return (
    <Page title="Limits & breakers">
      <Loaded query={limits}>
        {(list) => (
          <>
            <Section title="Concurrency">
              <Limits
                list={list}
                scope={scope}
                isShown={({ type }) => type !== 'rate'}
                label="Concurrency limits"
                empty={
                  <>
                    No concurrency limits. <code>defineLimit()</code> in a worker's code makes one.
                  </>
                }
              />
            </Section>
            <Section title="Rates">
              <Limits
                list={list}
                scope={scope}
                isShown={({ type }) => type === 'rate'}
                label="Rates"
                empty={
                  <>
                    No rates. <code>defineRate()</code> in a worker's code makes one.
                  </>
                }
              />
            </Section>
            <Pager next={list.next} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

interface Shown {
  list: LimitList
  scope: string
  isShown: (item: LimitItem) => boolean
  label: string
  empty: ReactNode
}

function Limits({ list, scope, isShown, label, empty }: Shown) {
  const { param, href } = useUrl()
  const { rows, waiting, letIn } = useHeld(list.items.filter(isShown), (item) => item.name, scope)
  const open = param('limit')
  if (rows.length === 0 && waiting === 0) return <p className="muted">{empty}</p>
  return (
    <>
      <NewRows waiting={waiting} letIn={letIn} />
      <div className="table-scroll" tabIndex={0} role="region" aria-label={label}>
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Use</th>
              <th scope="col" className="num">
                Ready behind
              </th>
              <th scope="col">Covers</th>
              <th scope="col">Override</th>
              <th scope="col">Source</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ item, key, isGone }) => (
              <>
                <tr key={key} data-row={key} className={isGone ? 'gone' : ''} aria-selected={open === key}>
                  <th scope="row">
                    <Link
                      data-row-link
                      className="name"
                      title={key}
                      href={href({
                        limit: open === key ? undefined : key,
                        panel: undefined,
                        keys: undefined,
                      })}
                      aria-expanded={open === key}
                    >
                      {key}
                    </Link>
                  </th>
                  <td>
                    <Use item={item} />
                  </td>
                  <td className="num">
                    <Behind item={item} />
                  </td>
                  <td className="clip" title={coversText(item)}>
                    {coversText(item)}
                  </td>
                  <td>
                    <Override item={item} />
                  </td>
                  <td>
                    <Source item={item} />
                  </td>
                </tr>
                {open === key ? (
                  <tr key={`${key} open`} className="opened">
                    <td colSpan={6}>
                      <Detail name={key} />
                    </td>
                  </tr>
                ) : null}
              </>
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

/** How full it is; of a limit by key, the key that is nearest to its limit. */
function Use({ item }: { item: LimitItem }) {
  if (item.broken !== null)
    return (
      <span className="tag tag-bad" title={item.broken}>
        <Icon name="warn" /> broken
      </span>
    )
  const [busiest] = item.keys
  const key = item.byKey ? <span className="muted">{busiest?.key ?? 'no key in use'} </span> : null
  if (item.type === 'rate') {
    if (item.byKey && busiest === undefined) return key
    return (
      <>
        {key}
        <Tokens of={busiest ?? item} burst={item.burst} isBlocked={item.blockedUntil !== null} />
      </>
    )
  }
  if (item.byKey && busiest === undefined) return key
  return (
    <>
      {key}
      <OfMax used={busiest?.used ?? item.used ?? 0} max={busiest?.max ?? item.max ?? 0} />
    </>
  )
}

function OfMax({ used, max }: { used: number; max: number }) {
  return (
    <>
      {whole(used)}
      <span className="muted">/{whole(max)}</span>{' '}
      <Meter value={max === 0 ? 1 : used} of={max === 0 ? 1 : max} tone={used >= max ? 'full' : 'flow'} />
    </>
  )
}

interface Level {
  available: number | null
  nextTokenMs: number | null
}

function Tokens({ of, burst, isBlocked }: { of: Level; burst: number | null; isBlocked: boolean }) {
  const have = Math.max(0, Math.floor(of.available ?? 0))
  const next = of.nextTokenMs ?? 0
  return (
    <>
      {whole(have)}
      <span className="muted">/{whole(burst ?? 0)} tokens</span>{' '}
      <Meter value={have} of={burst ?? 0} tone={next > 0 ? 'full' : 'flow'} />{' '}
      {isBlocked ? (
        <span className="tag tag-warn">
          <Icon name="pause" /> penalised, opens in {span(next)}
        </span>
      ) : next > 0 ? (
        <span className="muted">next in {span(next)}</span>
      ) : null}
    </>
  )
}

function Behind({ item: { readyBehind } }: { item: LimitItem }) {
  if (readyBehind === null) return <span className="muted">–</span>
  return readyBehind === 0 ? <>0</> : <strong>{estimateText(readyBehind)}</strong>
}

function Override({ item: { override } }: { item: LimitItem }) {
  if (override === null) return <span className="muted">–</span>
  return (
    <span className="tag tag-warn" title={override.reason ?? undefined}>
      {whole(override.to)}{' '}
      {override.until === null ? (
        'until cleared'
      ) : (
        <>
          until <Time at={override.until} exact />
        </>
      )}
      {override.by === null ? null : ` by ${override.by}`}
    </span>
  )
}

function Source({ item }: { item: LimitItem }) {
  if (item.type === 'missing') return <span className="muted">–</span>
  if (item.isOrphan) return <span className="tag tag-warn">in no live worker</span>
  return <>{item.source === 'code' ? 'code' : 'by hand'}</>
}

function coversText({ covers }: LimitItem): string {
  return covers
    .map(({ queue, kinds }) => (kinds === null ? queue : `${queue} (${kinds.join(', ')})`))
    .join(', ')
}

function Detail({ name }: { name: string }) {
  const limit = useLive(limitQuery(name))
  return (
    <Loaded query={limit}>
      {(answer) => (
        <div className="group">
          {answer.broken === null ? null : (
            <p className="bad">
              <Icon name="fail" /> The stored row is broken: {answer.broken}. That part of it has no effect.
            </p>
          )}
          <p>
            {ruleText(answer)}
            {answer.override === null || answer.override.reason === null ? null : (
              <span className="muted"> Overridden: “{answer.override.reason}”.</span>
            )}
          </p>
          <LimitActions limit={answer} />
          <div className="columns">
            {answer.byKey ? <Keys limit={answer} /> : null}
            {answer.type === 'concurrency' ? <Holders limit={answer} /> : null}
          </div>
          {answer.keyRules === 0 ? null : <KeyRules limit={answer} />}
        </div>
      )}
    </Loaded>
  )
}

function ruleText({ type, byKey, declared, onLimit, periodMs, burst, keep, tiers }: LimitDetail): string {
  if (type === 'missing') return ''
  const each = byKey ? ' of each key' : ''
  const number = whole(declared ?? 0)
  if (type === 'rate') {
    const left = keep === null || keep === 0 ? '' : ` Jobs leave ${whole(keep)} to others.`
    return `In code: ${number} tokens${each} per ${span(periodMs ?? 0)}, at most ${whole(burst ?? 0)} at once.${left}`
  }
  const tierText = Object.entries(tiers)
    .map(([tier, max]) => `${tier} ${whole(max)}`)
    .join(', ')
  const then = onLimit === 'wait' || onLimit === null ? 'Others wait.' : `What happens to others: ${onLimit}.`
  return `In code: ${plural(declared ?? 0, 'job')}${each} at once${tierText === '' ? '' : `; tiers: ${tierText}`}. ${then}`
}

function Keys({ limit }: { limit: LimitDetail }) {
  return (
    <div>
      <h2>Keys nearest to the limit</h2>
      {limit.keys.length === 0 ? <p className="muted">No key is in use.</p> : null}
      <ol className="plain-list">
        {limit.keys.map((key) => (
          <li key={key.key}>
            <Link href={`/jobs${query({ where: token('key', key.key) })}`}>{key.key}</Link>{' '}
            {limit.type === 'rate' ? (
              <Tokens of={key} burst={limit.burst} isBlocked={false} />
            ) : (
              <OfMax used={key.used ?? 0} max={key.max ?? 0} />
            )}{' '}
            {key.ready === null || key.ready === 0 ? null : (
              <span className="muted">{estimateText(key.ready)} ready</span>
            )}
          </li>
        ))}
      </ol>
      {limit.keysAtLimit > limit.keys.length ? (
        <p className="muted">{plural(limit.keysAtLimit, 'key')} at the limit.</p>
      ) : null}
    </div>
  )
}

function Holders({ limit }: { limit: LimitDetail }) {
  const more = (limit.used ?? 0) - limit.holders.length
  return (
    <div>
      <h2>Held by</h2>
      {limit.holders.length === 0 ? <p className="muted">No job runs under this limit.</p> : null}
      <ol className="plain-list">
        {limit.holders.map((job) => (
          <li key={job.id}>
            <Link href={`/jobs/${job.id}`}>
              {job.kind} {shortId(job.id)}
            </Link>{' '}
            <span className="muted">
              {job.key === null ? '' : `${job.key}, `}
              {job.startedAt === null ? '' : <Age since={job.startedAt} />}
              {job.workerId === null ? '' : ` on ${shortId(job.workerId)}`}
            </span>
          </li>
        ))}
      </ol>
      {more > 0 ? <p className="muted">and {whole(more)} more</p> : null}
    </div>
  )
}

function KeyRules({ limit }: { limit: LimitDetail }) {
  const { param, href } = useUrl()
  const rules = useLive(keyRulesQuery(limit.name, param('keys')))
  return (
    <div>
      <h2>Rules of single keys</h2>
      <Loaded query={rules} isEmpty={({ items }) => items.length === 0} empty="No more rules.">
        {(answer) => (
          <>
            <ol className="plain-list">
              {answer.items.map((rule) => (
                <li key={rule.key}>
                  <strong>{rule.key}</strong> {ruleWords(rule)}{' '}
                  <span className="muted">
                    {!rule.isActive ? 'ended' : rule.until === null ? 'until cleared' : 'until '}
                    {rule.isActive && rule.until !== null ? <Time at={rule.until} exact /> : null}
                    {rule.by === null ? '' : ` by ${rule.by}`}
                    {rule.reason === null ? '' : ` “${rule.reason}”`}
                  </span>{' '}
                  <KeyRuleActions name={limit.name} rule={rule} />
                </li>
              ))}
            </ol>
            {answer.next === null ? null : (
              <Link className="button" href={href({ keys: answer.next })}>
                More keys <Icon name="right" />
              </Link>
            )}
          </>
        )}
      </Loaded>
    </div>
  )
}

function ruleWords({
  max,
  weight,
  tier,
}: {
  max: number | null
  weight: number | null
  tier: string | null
}): string {
  return [
    ...(max === null ? [] : [`max ${whole(max)}`]),
    ...(tier === null ? [] : [`tier ${tier}`]),
    ...(weight === null ? [] : [`weight ${whole(weight)}`]),
  ].join(', ')
}
