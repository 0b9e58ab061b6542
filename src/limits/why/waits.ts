import { objectIn, textIn } from '../../core/json/stored-json.ts'
import { peek } from '../../core/failures/thrown.ts'
import { span } from '../../core/span.ts'
import type { Facts } from './facts.ts'
import { holds } from './verdict.ts'
import type { Sees, Verdict } from './verdict.ts'
import { moment, number, shortId, shown } from './words.ts'

/** Signals and jobs that are named at most. */
const mostNamed = 5

/**
 * What a waiting job waits for. `waits` is what the worker stored when the job gave back its slot; another role may have
 * written it, so it can have any shape. What a signal has to contain is not said: it may be a part of the input.
 */
export function dependencies(
  { state, waits, flowId, runAt, asOf }: Pick<Facts, 'state' | 'waits' | 'flowId' | 'runAt' | 'asOf'>,
  sees: Sees | undefined,
): Verdict {
  const ms = runAt.getTime() - asOf.getTime()
  // A wait whose time has come is over; `due` says who makes the job ready.
  if (state !== 'waiting' || ms <= 0) return holds
  const clears = { clearsInMs: Math.round(ms) }
  const parked = textIn(peek(waits, 'parked'), 'reason')
  if (parked !== null)
    return { holds: false, says: `parked: ${shown(parked)}; tried again in ${span(ms)}`, ...clears }
  const isTimed = peek(waits, 'sleep') === true
  const others = [...signals(waits), ...jobs(waits, sees), ...flows(waits, sees)]
  if (others.length > 0) {
    const until = isTimed ? `, until ${moment(asOf, ms)}` : ''
    return { holds: false, says: `${others.join(' or ')}${until}` }
  }
  if (isTimed) return { holds: false, says: `sleeping until ${moment(asOf, ms)}`, ...clears }
  return {
    holds: false,
    says:
      flowId === null ? 'waiting, and its row does not say for what' : 'waiting for earlier jobs of its flow',
  }
}

/** `signal "approved"` */
function signals(waits: unknown): string[] {
  const listed = peek(waits, 'signals')
  const names = (Array.isArray(listed) ? (listed as unknown[]) : []).flatMap(
    (signal) => textIn(signal, 'name') ?? [],
  )
  return firstOf([...new Set(names)].map((name) => `signal "${shown(name)}"`))
}

/** The jobs of `ctx.waitForJob`. A caller that does not see all jobs learns neither their ids nor their number. */
function jobs(waits: unknown, sees: Sees | undefined): string[] {
  const listed = peek(waits, 'jobs')
  const ids = (Array.isArray(listed) ? (listed as unknown[]) : []).filter((id) => typeof id === 'string')
  if (ids.length > 0 && sees !== undefined) return ['other jobs']
  return firstOf(ids.map((id) => `job ${shown(shortId(id))}`))
}

/** Its children. */
function flows(waits: unknown, sees: Sees | undefined): string[] {
  const count = Object.keys(objectIn(peek(waits, 'flows'))).length
  if (count === 0) return []
  return [count === 1 || sees !== undefined ? 'its children' : `its children of ${number(count)} sets`]
}

function firstOf(names: readonly string[]): string[] {
  const rest = names.length - mostNamed
  return rest > 0 ? [...names.slice(0, mostNamed), `${number(rest)} more`] : [...names]
}
