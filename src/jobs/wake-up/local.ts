import type { Hint } from './hint.ts'

type Listener = (hints: readonly Hint[]) => void

const listeners = new Map<string, Set<Listener>>()

/** Where hints are heard: one schema of one database, as this process reaches it. */
export function placeOf(url: string, schema: string): string {
  return `${url} ${schema}`
}

/** Wakes the workers of this process directly: no connection is needed for that. */
export function ringLocally(place: string, hints: readonly Hint[]): void {
  for (const listener of listeners.get(place) ?? []) listener(hints)
}

/** Hears of what this process stores; gives the way to stop. */
export function listenLocally(place: string, listener: Listener): () => void {
  const present = listeners.get(place) ?? new Set()
  listeners.set(place, present.add(listener))
  return () => {
    present.delete(listener)
    if (present.size === 0) listeners.delete(place)
  }
}
