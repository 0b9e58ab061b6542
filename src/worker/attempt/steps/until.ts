import type { FlowWait } from '../../../flows/waiting/waiting.ts'
import type { Ending } from '../outcome.ts'
import type { Call } from './call.ts'

/** When the wait of a call is over. A span counts from when the call stopped, not from when all others had stopped too. */
export function untilOf({ stop, stoppedAt = 0 }: Call): {
  untilMs?: number | undefined
  untilAt?: string | undefined
} {
  if (stop?.type !== 'wait') return {}
  const { untilMs, untilAt } = stop.until
  const goneMs = performance.now() - stoppedAt
  return { untilAt, untilMs: untilMs === undefined ? undefined : Math.max(0, untilMs - goneMs) }
}

/** The ending of an attempt whose calls all wait. */
export function waitingOf(calls: readonly Call[]): Ending {
  const waits = calls.flatMap(({ stop }) => (stop?.type === 'wait' ? stop : []))
  const signals = waits.flatMap(({ signal }) => signal ?? [])
  const flows: Record<string, FlowWait> = {}
  for (const wait of waits)
    for (const [flow, until] of Object.entries(wait.flows ?? {}))
      flows[flow] = (flows[flow] ?? until) === until ? until : 'dead'
  const jobs = [...new Set(waits.flatMap((wait) => wait.jobs ?? []))]
  const untils = calls.map(untilOf)
  const untilMs = untils.flatMap(({ untilMs: ms }) => ms ?? [])
  const untilAt = untils.flatMap(({ untilAt: at }) => at ?? []).sort()
  return {
    type: 'waiting',
    waits: {
      ...(signals.length > 0 ? { signals } : {}),
      ...(Object.keys(flows).length > 0 ? { flows } : {}),
      ...(jobs.length > 0 ? { jobs } : {}),
      ...(untilMs.length + untilAt.length > 0 ? { sleep: true } : {}),
    },
    untilMs: untilMs.length > 0 ? Math.min(...untilMs) : undefined,
    untilAt: untilAt[0],
    reason: calls.map(({ name }) => name).join(', '),
  }
}
