import { middleOf } from '../../core/histogram.ts'
import { numberIn, numbersIn, textIn } from '../../core/json/stored-json.ts'
import { span } from '../../core/span.ts'
import { bounded, count, moment, msUntil, number, quoted, shortId, shown, toHolder } from './words.ts'
import { most, mostKeys } from './facts.ts'
import type { BreakerFacts, BucketFacts, Facts, HolderFacts, LimitFacts, PauseFacts } from './facts.ts'
import { holds, mayCount, open } from './verdict.ts'
import type { Judging, Verdict, WhyPredicate } from './verdict.ts'
import { dependencies } from './waits.ts'
import { canClaim, canRun, handler, slot, worker } from './worker-predicates.ts'

/** The predicates of a job that waits, but for the last two. */
export function judgeWaiting(judging: Judging): WhyPredicate[] {
  const { facts } = judging
  const workers = facts.workers ?? []
  const claiming = workers.filter((one) => canClaim(one, facts.queue))
  const judged = claiming.length === 0 ? workers : claiming
  const able = judged.filter((worker) => canRun(worker, facts))
  return [
    { name: 'live', ...holds },
    { name: 'dependencies', ...dependencies(facts, judging.sees) },
    { name: 'due', ...due(facts, workers) },
    { name: 'open', ...isOpen(facts) },
    { name: 'worker', ...worker(facts, workers) },
    { name: 'handler', ...(workers.length === 0 ? open : handler(facts, judged, able)) },
    { name: 'slot', ...(able.length === 0 || claiming.length === 0 ? open : slot(judging, able)) },
    { name: 'breaker', ...breaker(facts) },
    { name: 'rate', ...rate(facts) },
    { name: 'limit', ...limit(judging) },
    { name: 'order', ...order(judging) },
  ]
}

export function runningText({ workerId, startedAt, leaseUntil, epoch, asOf }: Facts): string {
  const lease = leaseUntil === null ? -1 : leaseUntil.getTime() - asOf.getTime()
  const rest = lease >= 0 ? `lease ${span(lease)}` : 'its lease is over: a worker takes it back soon'
  const since = startedAt === null ? '' : ` for ${span(asOf.getTime() - startedAt.getTime())}`
  return `running on ${workerId === null ? 'a worker' : shortId(workerId)}${since}, epoch ${epoch}, ${rest}`
}

function due(
  { state, runAt, asOf, queue, attempt, maxAttempts, failedWith }: Facts,
  workers: readonly unknown[],
): Verdict {
  const ms = runAt.getTime() - asOf.getTime()
  const isTimed = state === 'scheduled' || state === 'retrying' || (state === 'waiting' && ms <= 0)
  if (!isTimed) return holds
  if (ms <= 0) {
    const who =
      workers.length > 0 ? `a worker of ${queue} does that within a second` : `no live worker serves ${queue}`
    return { holds: false, says: `due ${span(-ms)} ago, not promoted: ${who}` }
  }
  const failure =
    state === 'retrying' && attempt > 0
      ? `; attempt ${attempt}/${maxAttempts} failed${failedWith === null ? '' : ` with ${failedWith.slice(0, 4)}`}`
      : ''
  return { holds: false, says: `due in ${span(ms)}${failure}`, clearsInMs: ms }
}

function isOpen({ queuePause, pauses, kind, key, asOf }: Facts): Verdict {
  const all: [what: string, pause: PauseFacts][] = [
    ...(queuePause === null ? [] : [['queue', queuePause] as [string, PauseFacts]]),
    ...(pauses ?? []).map((pause): [string, PauseFacts] => [
      typeof pause.kind === 'string' ? `kind ${kind}` : `key ${shown(key ?? '')}`,
      pause,
    ]),
  ]
  if (all.length === 0) return holds
  const says = all.map(([what, { by, reason, until }]) => {
    const ms = msUntil(until, asOf)
    const end = ms === Infinity ? 'it is resumed' : moment(asOf, ms)
    return `${what} paused${by === null ? '' : ` by ${shown(by)}`} until ${end}${quoted(reason)}`
  })
  const last = Math.max(...all.map(([, { until }]) => msUntil(until, asOf)))
  return { holds: false, says: says.join('; '), ...clears(last) }
}

function breaker({ breakers, asOf }: Facts): Verdict {
  if (breakers === null) return holds
  const [first] = breakers
  if (first === undefined) return holds
  const ms = msUntil(first.forcedBy === null ? first.probeAt : first.forcedUntil, asOf)
  return {
    holds: false,
    says: breakers.map((one) => breakerText(one, asOf)).join('; '),
    ...clears(Math.max(0, ms)),
  }
}

function breakerText({ name, state, since, cause, probeAt, ...forced }: BreakerFacts, asOf: Date): string {
  if (forced.forcedBy !== null) {
    const ms = msUntil(forced.forcedUntil, asOf)
    return `${name} ${state}, forced by ${shown(forced.forcedBy)} until ${ms === Infinity ? 'it is reset' : moment(asOf, ms)}${quoted(forced.forcedReason)}`
  }
  if (state === 'half-open') return `${name} half-open: its probes decide whether it closes`
  const [failed, of] = [numberIn(cause, 'failed'), numberIn(cause, 'of')]
  const group = textIn(cause, 'fingerprint')
  const why =
    failed === null || of === null
      ? ''
      : ` after ${failed}/${of} failures${group === null ? '' : ` (${shown(group.slice(0, 4))})`}`
  const probe = msUntil(probeAt, asOf)
  const next = Number.isFinite(probe) ? `; probe ${probe > 0 ? `in ${span(probe)}` : 'due now'}` : ''
  return `${name} open ${span(-msUntil(since, asOf))}${why}${next}`
}

function rate({ buckets, cost, asOf }: Facts): Verdict {
  const short = (buckets ?? []).filter(({ have }) => cost > have)
  if (short.length === 0) return holds
  const waits = short.map((bucket) => tokensInMs(bucket, cost, asOf))
  return {
    holds: false,
    says: short.map((bucket) => rateText(bucket, cost, asOf)).join('; '),
    ...clears(Math.max(...waits)),
  }
}

function tokensInMs(
  { have, perMs, burst, keep, blockedUntil }: BucketFacts,
  cost: number,
  asOf: Date,
): number {
  if (cost > burst - keep) return Infinity
  const blocked = blockedUntil === null ? 0 : Math.max(0, msUntil(blockedUntil, asOf))
  return Math.max(blocked, blocked > 0 ? 0 : (cost - have) / perMs)
}

function rateText(bucket: BucketFacts, cost: number, asOf: Date): string {
  const { name, key, have, burst, keep, blockedUntil } = bucket
  const whose = key === null ? name : `${name} for key ${shown(key)}`
  if (cost > burst - keep)
    return `${whose} never has ${number(cost)} tokens: its bucket gives jobs ${number(burst - keep)} at most, so this job cannot run`
  const inMs = tokensInMs(bucket, cost, asOf)
  const level = `${whose} ${number(Math.max(0, Math.floor(have)))}/${number(burst)}`
  if (blockedUntil !== null && msUntil(blockedUntil, asOf) > 0)
    return `${whose} is closed for ${inMs === Infinity ? 'ever' : span(inMs)}: the provider asked to wait`
  return `${level}; ${cost === 1 ? 'next token' : `${number(cost)} tokens`} in ${span(inMs)}`
}

/** The first limit that is reached. */
export function reachedLimit({ limits }: Facts): LimitFacts | undefined {
  return (limits ?? []).find(({ used, max }) => used >= max)
}

function limit(judging: Judging): Verdict {
  const { facts, holders, sees } = judging
  const first = reachedLimit(facts)
  if (first === undefined) return holds
  const { name, byKey, max, used, onLimit } = first
  const seen = holders.filter((one) => sees === undefined || sees(one))
  // To a caller that does not see all jobs under the limit, their number would tell of the others.
  const seesAll = sees === undefined || (seen.length === holders.length && used <= holders.length)
  const whose = byKey ? `key ${shown(facts.key ?? '')}` : name
  const full = `${whose} ${seesAll ? `${number(used)}/${number(max)}` : 'is full'}${byKey ? ` of ${name}` : ''}`
  const ahead = byKey && mayCount(facts, sees) ? aheadOf(facts) : 0
  const behind = ahead === 0 ? '' : `; ${bounded(ahead)} ahead within the key`
  const runMs = meanRunMs(facts.pace)
  const inMs = runMs === undefined || max === 0 ? Infinity : ((ahead + 1) * runMs) / max
  return {
    holds: false,
    says:
      max === 0
        ? `${whose} 0/0${byKey ? ` of ${name}` : ''}: the limit lets no job start`
        : `${full}${heldBy(seen, used, seesAll, facts)}${behind}${fate(onLimit, facts)}`,
    holders: seen.map(toHolder(facts.asOf)),
    ...clears(inMs),
  }
}

/** What the limit does with jobs that find no room. */
function fate(onLimit: string, { attempt }: Facts): string {
  if (onLimit === 'drop-newest' && attempt === 0) return '; the limit cancels jobs that find no room'
  return onLimit === 'latest-wins' ? '; the limit cancels older jobs for newer ones' : ''
}

function heldBy(
  [first, ...others]: readonly HolderFacts[],
  used: number,
  seesAll: boolean,
  { asOf }: Facts,
): string {
  if (first === undefined) return seesAll ? '' : ', held by jobs that you may not see'
  const lease = first.leaseUntil === undefined ? Infinity : msUntil(first.leaseUntil, asOf)
  const facts = [
    ...(first.worker === null ? [] : [shortId(first.worker)]),
    span(-msUntil(first.since, asOf)),
    ...(Number.isFinite(lease) ? [lease > 0 ? `lease expires in ${span(lease)}` : 'lease over'] : []),
  ]
  const more = !seesAll
    ? ' and others'
    : used > 1
      ? ` and ${number(Math.max(others.length, used - 1))} more`
      : ''
  return `, held by ${shortId(first.id)} (${facts.join(', ')})${more}`
}

function order({ facts: { head, asOf }, sees }: Judging): Verdict {
  if (head === null) return holds
  if (sees !== undefined && !sees(head))
    return { holds: false, says: 'ordered key: another job must start before it' }
  const dueMs = msUntil(head.dueAt ?? null, asOf)
  const when =
    head.state === 'running'
      ? `, ${span(-msUntil(head.since, asOf))}`
      : head.state === 'ready' || !Number.isFinite(dueMs)
        ? ''
        : dueMs > 0
          ? `, due in ${span(dueMs)}`
          : ', due'
  return {
    holds: false,
    says: `ordered key: ${shortId(head.id)} before it is ${head.state}${when}`,
    holders: [toHolder(asOf)(head)],
  }
}

/** For a job that nothing else stops. */
export function turn({ facts, sees }: Pick<Judging, 'facts' | 'sees'>): Verdict {
  const { key, higher, otherKeys, asOf, pace } = facts
  const ahead = aheadOf(facts)
  if (ahead === 0 && otherKeys === 0) return holds
  if (!mayCount(facts, sees)) return { holds: false, says: 'other jobs of its queue come first' }
  const priority = higher === 0 ? '' : ` (${bounded(higher)} of higher priority)`
  if (key !== null) {
    const keys = otherKeys >= mostKeys ? `${mostKeys}+` : String(otherKeys)
    const turns =
      otherKeys === 0 ? '' : `its key's turn comes within ${keys} ${otherKeys === 1 ? 'key' : 'keys'}`
    const within = ahead === 0 ? '' : `${bounded(ahead)} ahead within its key${priority}`
    return { holds: false, says: [within, turns].filter((part) => part !== '').join('; ') }
  }
  const perMs = startsPerMs(pace, asOf)
  const inMs = perMs === 0 || ahead >= most ? Infinity : ahead / perMs
  const perSecond = perMs * 1_000
  const speed =
    perMs === 0
      ? ''
      : `, ${perSecond >= 10 ? number(Math.round(perSecond)) : perSecond.toPrecision(2)}/s${inMs === Infinity ? '' : ` → ≈ ${span(inMs)}`}`
  return { holds: false, says: `${bounded(ahead)} ahead${priority}${speed}`, ...clears(inMs) }
}

/** How long an attempt of this kind took in the last five minutes, on average. */
function meanRunMs({ runs }: Facts['pace']): number | undefined {
  let [jobs, ms] = [0, 0]
  for (const run of Array.isArray(runs) ? (runs as unknown[]) : [])
    for (const [bin, times] of Object.entries(numbersIn(run))) {
      jobs += times
      ms += times * middleOf(Number(bin))
    }
  return jobs > 0 && Number.isFinite(ms) ? ms / jobs : undefined
}

/** Jobs of the queue that started in the last five minutes, the running one included. */
function startsPerMs({ started }: Facts['pace'], asOf: Date): number {
  return count(started) / (4 * 60_000 + Math.max(1_000, asOf.getTime() % 60_000))
}

function aheadOf({ higher, earlier }: Facts): number {
  return Math.min(most, higher + earlier)
}

function clears(ms: number): Pick<Verdict, 'clearsInMs'> {
  return Number.isFinite(ms) ? { clearsInMs: Math.round(ms) } : {}
}
