import { keepPreviousData, QueryClient, useQuery } from '@tanstack/react-query'
import type { QueryKey, UseQueryResult } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import type { ApiError } from './client.ts'
import { live } from './live.ts'
import type { LiveState } from './live.ts'

export const pollMs = 5_000
/** However often a topic speaks, its screen asks at most so often. */
const throttleMs = 1_000

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (count, error) => count < 2 && isPassing(error as unknown as ApiError),
      retryDelay: 1_000,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      networkMode: 'always',
      staleTime: 1_000,
    },
    mutations: { networkMode: 'always' },
  },
})

queries.getQueryCache().subscribe((event) => {
  if (event.type === 'updated' && event.action.type === 'success') live.heard()
})

export function useLiveState(): LiveState {
  return useSyncExternalStore(live.subscribe, () => live.state)
}

export interface LiveQuery<Answer> {
  queryKey: QueryKey
  queryFn: (context: { signal: AbortSignal }) => Promise<Answer>
  /** What the server calls it; without one it is polled. */
  topic?: string | undefined
  everyMs?: number | undefined
  enabled?: boolean | undefined
  /** Shows what was there while another page or filter is on its way. */
  keep?: boolean | undefined
}

/** A query that stays fresh by the stream where it has a topic, by polling where it has none or the stream is down. */
export function useLive<Answer>(query: LiveQuery<Answer>): UseQueryResult<Answer, ApiError> {
  const { mode } = useLiveState()
  const { topic, enabled = true, everyMs = pollMs } = query
  const isPaused = mode === 'paused'
  const isPolled = !isPaused && (topic === undefined || mode !== 'live')

  const keyText = JSON.stringify(query.queryKey)
  useEffect(() => {
    if (topic === undefined || !enabled) return
    let timer: ReturnType<typeof setTimeout> | undefined
    let lastAt = 0
    const refetch = (): void => {
      timer = undefined
      lastAt = performance.now()
      if (live.state.mode !== 'paused') void queries.invalidateQueries({ queryKey: JSON.parse(keyText) as QueryKey })
    }
    const stop = live.follow(topic, () => {
      timer ??= setTimeout(refetch, Math.max(0, lastAt + throttleMs - performance.now()))
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [topic, enabled, keyText])

  return useQuery<Answer, ApiError>({
    queryKey: query.queryKey,
    queryFn: query.queryFn,
    enabled,
    refetchInterval: isPolled ? everyMs : false,
    refetchOnMount: !isPaused,
    ...(query.keep === true && { placeholderData: keepPreviousData }),
  })
}

function isPassing(error: ApiError): boolean {
  return error.problem.status === 503 || error.problem.status === 0
}
