import { useSyncExternalStore } from 'react'

/**
 * The server's time, and a tick that all ages on the screen share. Every answer has `asOf`; the smallest difference seen
 * is the best estimate of the offset between this machine's clock and the server's.
 */
let offsetMs: number | undefined
const listeners = new Set<() => void>()
let now = Date.now()

setInterval(() => {
  now = Date.now() + (offsetMs ?? 0)
  for (const listener of listeners) listener()
}, 1_000)

export function heardTime(asOf: unknown): void {
  if (typeof asOf !== 'string') return
  const offset = Date.parse(asOf) - Date.now()
  if (Number.isNaN(offset) || (offsetMs !== undefined && offset <= offsetMs)) return
  offsetMs = offset
  now = Date.now() + offset
}

export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
