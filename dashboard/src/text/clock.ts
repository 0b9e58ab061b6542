import { useSyncExternalStore } from 'react'

/**
 * The server's time, and a tick that all ages on the screen share. Every answer carries `asOf`; the smallest lag seen is
 * the best guess of how far this machine's clock is off.
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
