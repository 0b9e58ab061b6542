import type { Hint } from './hint.ts'

type Listener = (hints: readonly Hint[]) => void

const listeners = new Map<string, Set<Listener>>()

/** The key of one schema of one database, for hints within this process. */
export function databaseKey(url: string, schema: string): string {
  return `${url} ${schema}`
}

/** Wakes the workers of this process directly: no connection is needed for that. */
export function ringLocally(key: string, hints: readonly Hint[]): void {
  for (const listener of listeners.get(key) ?? []) listener(hints)
}

/** Listens for jobs that this process stores; returns a function that stops it. */
export function listenLocally(key: string, listener: Listener): () => void {
  const present = listeners.get(key) ?? new Set()
  listeners.set(key, present.add(listener))
  return () => {
    present.delete(listener)
    if (present.size === 0) listeners.delete(key)
  }
}
