import type { ClockSkew } from '../../db/clock-skew.ts'

/** What the lease thread is given. */
export interface LeaseThreadData {
  url: string
  schema: string
  workerId: string
  leaseMs: number
  /** How long a handler has to end after its deadline. */
  graceMs: number
  /** What the registration said of this machine's clock: the first heartbeat passes it on. */
  skew: ClockSkew | undefined
  memory: SharedArrayBuffer
}

/** What it tells: first that its code is loaded. A renewal is told by memory alone, for the main thread may be busy. */
export type LeaseThreadMessage =
  { type: 'up' } | { type: 'lost' } | { type: 'renewed' } | { type: 'trouble'; message: string }

/** What it is told: to renew at once, or to end. */
export type LeaseThreadOrder = 'renew' | 'stop'

/** Places in the memory that both threads share, all of them moments of the clock that they share too. */
const places = ['confirmed', 'turned', 'alive', 'deadline'] as const

/**
 * confirmed  when the last confirmed heartbeat was sent
 * turned     when the lease thread last came to an answer, be it a failure
 * alive      when the main thread last had a moment
 * deadline   when the last of the running attempts has to be over
 */
export type Moment = (typeof places)[number]

/** Memory for the moments; all are now. */
export function leaseMemory(): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(8 * places.length)
  for (const moment of places) store(memory, moment, process.hrtime.bigint())
  return memory
}

export function store(memory: SharedArrayBuffer, moment: Moment, at: bigint): void {
  Atomics.store(new BigInt64Array(memory), places.indexOf(moment), at)
}

/** How long ago a moment was, in milliseconds; below zero where it is to come. */
export function ageMs(memory: SharedArrayBuffer, moment: Moment): number {
  const at = Atomics.load(new BigInt64Array(memory), places.indexOf(moment))
  return Number(process.hrtime.bigint() - at) / 1e6
}

/** A moment so many milliseconds from now. */
export function inMs(ms: number): bigint {
  return process.hrtime.bigint() + BigInt(Math.round(ms * 1e6))
}
