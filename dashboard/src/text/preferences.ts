import { useSyncExternalStore } from 'react'

/** The preferences of the person in this browser. */
export interface Preferences {
  theme: 'system' | 'light' | 'dark'
  times: 'relative' | 'local' | 'utc'
  /** Shortcuts of a single letter. They can be turned off because some speech and switch devices type them by accident. */
  singleKeys: boolean
}

const storageKey = 'stint.preferences'
const usual: Preferences = { theme: 'system', times: 'relative', singleKeys: true }
const listeners = new Set<() => void>()
let current = load()
apply()

export function usePreferences(): Preferences {
  return useSyncExternalStore(subscribe, preferences)
}

export function preferences(): Preferences {
  return current
}

export function prefer(change: Partial<Preferences>): void {
  current = { ...current, ...change }
  try {
    localStorage.setItem(storageKey, JSON.stringify(current))
  } catch {
    // Storage may be disabled: then the choice lasts until the page is closed.
  }
  apply()
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function apply(): void {
  if (current.theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = current.theme
}

function load(): Preferences {
  try {
    const stored = JSON.parse(localStorage.getItem(storageKey) ?? '{}') as Partial<Preferences>
    return { ...usual, ...stored }
  } catch {
    return usual
  }
}
