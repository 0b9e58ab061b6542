import { Link } from 'wouter'
import { keyRulesQuery, limitQuery, limitsQuery } from '../api/limits.ts'
import type { LimitDetail, LimitItem } from '../api/limits.ts'
import { useLive } from '../api/use-live.ts'
import { Breakers } from '../components/Breakers.tsx'
import { Icon } from '../components/Icon.tsx'
import { KeyRuleActions, LimitActions } from '../components/LimitActions.tsx'
import { LimitUse, OfMax, Tokens } from '../components/LimitUse.tsx'
import { Loaded } from '../components/Loaded.tsx'
import { Page, Section } from '../components/Page.tsx'
import { Pager } from '../components/Pager.tsx'
import { Age, Time } from '../components/Time.tsx'
import { coversText, RuleTable } from '../components/RuleTable.tsx'
import type { RuleColumn } from '../components/RuleTable.tsx'
import { useShownScope } from '../components/use-held.ts'
import { useRowKeys } from '../components/use-row-keys.ts'
import { estimateText, plural, shortId, span, whole } from '../text/format.ts'
import { token } from '../text/where.ts'
import { query, useUrl } from '../url/use-url.ts'

export function LimitsRoute() {
  const { param } = useUrl()
  const limits = useLive(limitsQuery({ cursor: param('cursor') }))
  const scope = useShownScope(limits, param('cursor') ?? '')
  useRowKeys()
  const table = { type: 'limit', scope, columns, detail: (name: string) => <Detail name={name} /> } as const
  return (
    <Page title="Limits & breakers">
      <Loaded query={limits}>
        {({ items, next }) => (
          <>
            <Section title="Concurrency">
              <RuleTable
                {...table}
                items={items.filter(({ type }) => type !== 'rate')}
                label="Concurrency limits"
                empty={
                  <>
                    No concurrency limits. <code>defineLimit()</code> in a worker's code makes one.
                  </>
                }
              />
            </Section>
            <Section title="Rates">
              <RuleTable
                {...table}
                items={items.filter(({ type }) => type === 'rate')}
                label="Rates"
                empty={
                  <>
                    No rates. <code>defineRate()</code> in a worker's code makes one.
                  </>
                }
              />
            </Section>
            <Pager next={next} />
          </>
        )}
      </Loaded>
      <Section title="Breakers">
        <Breakers />
      </Section>
    </Page>
  )
}

const columns: readonly RuleColumn<LimitItem>[] = [
  { head: 'Use', cell: (item) => <LimitUse item={item} /> },
  { head: 'Ready behind', isNumber: true, cell: (item) => <Behind item={item} /> },
  { head: 'Covers', text: coversText },
  { head: 'Override', cell: (item) => <Override item={item} /> },
  { head: 'Source', cell: (item) => <Source item={item} /> },
]

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
