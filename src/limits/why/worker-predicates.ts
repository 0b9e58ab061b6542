import { numberIn, textIn } from '../../core/json/stored-json.ts'
import { span } from '../../core/span.ts'
import { toWanted } from '../../jobs/leases/wanted.ts'
import { mostHeld } from './facts.ts'
import type { Facts, WorkerFacts } from './facts.ts'
import { holds, mayCount, open } from './verdict.ts'
import type { Judging, Verdict } from './verdict.ts'
import { count, msUntil, shortId, shown, toHolder } from './words.ts'

export function worker({ queue, lastWorker, asOf }: Facts, workers: readonly WorkerFacts[]): Verdict {
  if (workers.length === 0) {
    const last =
      lastWorker === null
        ? ''
        : `; the last, ${shortId(lastWorker.id)}, went ${span(-msUntil(lastWorker.at, asOf))} ago`
    return { holds: false, says: `no live worker serves ${queue}${last}` }
  }
  if (workers.some((one) => canClaim(one, queue))) return holds
  const stops = workers.map(({ wanted }) => toWanted(wanted)?.state)
  const failing = workers.find((_, n) => stops[n] === undefined)
  const fails = failing === undefined ? '' : `cannot claim: ${shown(failureOf(failing, queue) ?? '')}`
  if (stops.every((stop) => stop === undefined)) {
    const who = workers.length === 1 ? 'the worker' : `all ${workers.length} workers`
    return { holds: false, says: `${who} of ${queue} ${fails}` }
  }
  return { holds: false, says: stoppedText(stops, fails, queue) }
}

/** Whether a worker takes jobs of the queue: no person has paused it or lets it drain, and its claims succeed. */
export function canClaim(worker: WorkerFacts, queue: string): boolean {
  return toWanted(worker.wanted) === null && failureOf(worker, queue) === undefined
}

/** `2 workers, both draining`: a person has asked them to. */
function stoppedText(stops: readonly (string | undefined)[], fails: string, queue: string): string {
  const states = (['draining', 'paused', undefined] as const).filter((state) => stops.includes(state))
  const [first] = states
  const all = stops.length
  if (all === 1) return `the worker of ${queue} is ${first}`
  if (states.length === 1) return `${all} workers, ${all === 2 ? 'both' : 'all'} ${first}`
  const parts = states.map((state) => {
    const some = stops.filter((one) => one === state).length
    return `${some} ${state ?? fails}`
  })
  return `${all} workers: ${parts.join(', ')}`
}

/** Why a worker cannot claim from the queue; undefined if it can. */
function failureOf({ failing }: WorkerFacts, queue: string): string | undefined {
  if (!Array.isArray(failing)) return undefined
  const mine: unknown = failing.find((one) => textIn(one, 'queue') === queue)
  return mine === undefined ? undefined : (textIn(mine, 'error') ?? 'no reason is known')
}

/** A worker of another release may not have said which versions it knows. */
export function canRun({ version, handles }: WorkerFacts, facts: Facts): boolean {
  return typeof version === 'number' ? version >= facts.version : version === null && handles === true
}

export function handler(
  { queue, kind, version }: Facts,
  workers: readonly WorkerFacts[],
  able: readonly unknown[],
): Verdict {
  if (able.length > 0) return holds
  const known = [...new Set(workers.flatMap((one) => (typeof one.version === 'number' ? [one.version] : [])))]
  const serve =
    workers.length === 1
      ? `the worker of ${queue} does not handle`
      : `${workers.length} workers serve ${queue}, none handles`
  const knows =
    known.length === 0
      ? ''
      : ` (known: ${known
          .sort((a, b) => a - b)
          .map((one) => `v${one}`)
          .join(', ')})`
  return { holds: false, says: `${serve} ${kind} v${version}${knows}: deploy the worker` }
}

export function slot({ facts, sees }: Judging, able: readonly WorkerFacts[]): Verdict {
  const slotsOf = ({ slots, batch }: WorkerFacts): number => count(slots) * Math.max(1, count(batch))
  const slots = able.reduce((sum, one) => sum + slotsOf(one), 0)
  if (facts.running >= mostHeld) {
    // The probe stopped and has not seen what the last workers hold: the figure of the leader decides.
    if (facts.gaugedRunning === null) return open
    if (facts.gaugedRunning < slots) return holds
  } else if (able.some((one) => one.held < slotsOf(one) && !isReserved(one, facts))) return holds
  const holders = (facts.slotHolders ?? []).filter((one) => sees === undefined || sees(one))
  const [longest] = holders
  const held =
    longest === undefined
      ? ''
      : `; longest held by ${shortId(longest.id)}, ${span(-msUntil(longest.since, facts.asOf))}`
  const reserved = facts.running >= mostHeld ? [] : able.filter((one) => one.held < slotsOf(one))
  const free = reserved.reduce((sum, one) => sum + slotsOf(one) - one.held, 0)
  const from = `reserved for priority ${Math.min(...reserved.map((one) => reserveOf(one).priority))} and up`
  const counted = `${free} of ${slots} slots free${free === 0 ? '' : `, ${from}`}`
  const uncounted = free === 0 ? 'no slot is free' : `only slots ${from} are free`
  return {
    holds: false,
    says: `${mayCount(facts, sees) ? counted : uncounted}${held}`,
    holders: holders.map(toHolder(facts.asOf)),
  }
}

function reserveOf({ reserve }: WorkerFacts): { slots: number; priority: number } {
  return { slots: numberIn(reserve, 'slots') ?? 0, priority: numberIn(reserve, 'priority') ?? -Infinity }
}

/** Whether the free slots of a worker are reserved for higher priorities: QueuePool counts in the same way. */
function isReserved(worker: WorkerFacts, { priority }: Facts): boolean {
  const { slots, priority: from } = reserveOf(worker)
  const concurrency = count(worker.slots)
  const others = concurrency - Math.min(slots, concurrency - 1)
  return priority < from && worker.heldLow >= others * Math.max(1, count(worker.batch))
}
