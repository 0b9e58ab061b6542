/** What the lease thread is given. */
export interface LeaseThreadData {
  url: string
  schema: string
  workerId: string
  leaseMs: number
  memory: SharedArrayBuffer
}

/** What it tells; a renewal is told by memory alone, for the main thread may be busy. */
export type LeaseThreadMessage = { type: 'lost' } | { type: 'renewed' } | { type: 'trouble'; message: string }

/** Memory for one number: when the last confirmed heartbeat was sent, on the clock that all threads share. */
export function leaseMemory(sentAt: bigint): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(8)
  confirm(memory, sentAt)
  return memory
}

export function confirm(memory: SharedArrayBuffer, sentAt: bigint): void {
  Atomics.store(new BigInt64Array(memory), 0, sentAt)
}

/** How long ago, in milliseconds, the last confirmed heartbeat was sent. */
export function ageMs(memory: SharedArrayBuffer): number {
  return Number(process.hrtime.bigint() - Atomics.load(new BigInt64Array(memory), 0)) / 1e6
}
