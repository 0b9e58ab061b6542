import type { ClockSkew } from '../../db/clock-skew.ts'

/** What the lease thread gets at its start. */
export interface LeaseThreadData {
  url: string
  schema: string
  workerId: string
  leaseMs: number
  /** How long a handler has to end after its deadline. */
  graceMs: number
  /** The skew of this machine's clock, as measured by the registration: the first heartbeat stores it. */
  skew: ClockSkew | undefined
  /** What heartbeats report about claims, as JSON, until the main thread sends something newer. */
  claims: string
  memory: SharedArrayBuffer
}

/**
 * What the thread reports: first that its code is loaded. A renewal is reported in shared memory alone, because the
 * main thread may be busy.
 */
export type LeaseThreadMessage =
  { type: 'up' } | { type: 'lost' } | { type: 'renewed' } | { type: 'trouble'; message: string }

/** What the thread is told: to renew at once, to end, or what the next heartbeats report about claims. */
export type LeaseThreadOrder = 'renew' | 'stop' | { claims: string }

/** The moments in the memory that both threads share, by the clock that they share too. */
const moments = ['confirmed', 'turned', 'alive', 'deadline'] as const

/**
 * confirmed  when the last confirmed heartbeat was sent
 * turned     when the lease thread last got an answer, also if it was a failure
 * alive      when the main thread's event loop last turned
 * deadline   when the last of the running attempts has to be over
 */
export type Moment = (typeof moments)[number]

/** Shared memory for the moments; each is set to now. */
export function leaseMemory(): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(8 * moments.length)
  for (const moment of moments) store(memory, moment, process.hrtime.bigint())
  return memory
}

export function store(memory: SharedArrayBuffer, moment: Moment, at: bigint): void {
  Atomics.store(new BigInt64Array(memory), moments.indexOf(moment), at)
}

/** How long ago a moment was, in milliseconds; negative if it is in the future. */
export function ageMs(memory: SharedArrayBuffer, moment: Moment): number {
  const at = Atomics.load(new BigInt64Array(memory), moments.indexOf(moment))
  return Number(process.hrtime.bigint() - at) / 1e6
}

/** The moment that is this many milliseconds from now. */
export function inMs(ms: number): bigint {
  return process.hrtime.bigint() + BigInt(Math.round(ms * 1e6))
}
