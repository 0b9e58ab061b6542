import { useCallback, useMemo } from 'react'
import { useLocation, useSearch } from 'wouter'
import { base } from '../api/client.ts'

export type Changes = Readonly<Record<string, string | undefined>>

/**
 * The URL has the state of a screen: filter, cursor, selection, open panel. A link shows another person the same screen,
 * and Back undoes the last step. Small steps (a selected row) replace the history entry, larger ones add one.
 */
export function useUrl(): {
  param: (name: string) => string | undefined
  set: (changes: Changes, options?: { replace?: boolean }) => void
  href: (changes: Changes) => string
} {
  const search = useSearch()
  const [path, navigate] = useLocation()
  // Not wouter's own: that is already decoded, and a filter for a queue named `a%2Fb` would find another queue.
  const params = useMemo(() => new URLSearchParams(globalThis.location.search), [search])
  const href = useCallback((changes: Changes) => `${here()}${queryOf(params, changes)}`, [path, params])
  const set = useCallback(
    (changes: Changes, { replace = false }: { replace?: boolean } = {}) => {
      // Read the current URL: two changes in one turn must not undo each other.
      const now = new URLSearchParams(globalThis.location.search)
      navigate(`${here()}${queryOf(now, changes)}`, { replace })
    },
    [navigate],
  )
  const param = useCallback((name: string) => params.get(name) ?? undefined, [params])
  return { param, set, href }
}

export function query(values: Changes): string {
  return queryOf(new URLSearchParams(), values)
}

function queryOf(params: URLSearchParams, changes: Changes): string {
  const next = new URLSearchParams(params)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') next.delete(name)
    else next.set(name, value)
  }
  const text = next.toString()
  return text === '' ? '' : `?${text}`
}

/** The path without decoding. wouter's is decoded, and a queue named `a%2Fb` would become another one. */
export function here(): string {
  return globalThis.location.pathname.slice(base.pathname.length - 1)
}

/** A segment of the path, decoded once. */
export function segment(index: number): string {
  return decodeURIComponent(here().split('/')[index + 1] ?? '')
}
