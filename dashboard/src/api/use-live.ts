import { keepPreviousData, QueryClient, useQuery } from '@tanstack/react-query'
import type { QueryKey, UseQueryResult } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import type { ApiError } from './client.ts'
import { live } from './live.ts'
import type { LiveState, Message } from './live.ts'

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
  /** What the stream calls it; without one it is polled. */
  topic?: string | undefined
  /** Where the stream says all of it: its lists, and by which field their items are known. */
  merge?: Readonly<Record<string, string>> | undefined
  /** How often it is polled, where it has no topic or the stream is down. */
  everyMs?: number | ((answer: Answer | undefined) => number) | undefined
  /** How often also while the stream is up: for what it says only a part of. */
  anywayEveryMs?: number | undefined
  enabled?: boolean | undefined
  /** Shows what was there while another page or filter is on its way. */
  keep?: boolean | undefined
}

/** A query that stays fresh by the stream where it has a topic, by polling where it has none or the stream is down. */
export function useLive<Answer>(query: LiveQuery<Answer>): UseQueryResult<Answer, ApiError> {
  const { mode } = useLiveState()
  const { topic, merge, enabled = true, everyMs = pollMs, anywayEveryMs } = query
  const isPaused = mode === 'paused'
  const isFollowed = topic !== undefined && mode === 'live'

  const keyText = JSON.stringify(query.queryKey)
  useEffect(() => {
    if (topic === undefined || !enabled) return
    const queryKey = JSON.parse(keyText) as QueryKey
    let timer: ReturnType<typeof setTimeout> | undefined
    let lastAt = 0
    let isAsking = false
    let isNews = false
    // One after the other: to ask anew ends what is under way, and answers that take longer than the news would never come.
    const plan = (): void => {
      isNews = isAsking
      if (!isAsking) timer ??= setTimeout(refetch, Math.max(0, lastAt + throttleMs - performance.now()))
    }
    const refetch = (): void => {
      timer = undefined
      lastAt = performance.now()
      if (live.state.mode === 'paused') return
      isAsking = true
      void queries.invalidateQueries({ queryKey, exact: true }).finally(() => {
        isAsking = false
        if (isNews) plan()
      })
    }
    const stop = live.follow(topic, (message) => {
      if (
        merge !== undefined &&
        queries.setQueryData(queryKey, (now: unknown) => merged(now, message, merge)) !== undefined
      ) {
        if (message.type !== 'news') return
      }
      plan()
    })
    return () => {
      stop()
      isNews = false
      clearTimeout(timer)
    }
  }, [topic, enabled, keyText])

  return useQuery<Answer, ApiError>({
    queryKey: query.queryKey,
    queryFn: async (context) => {
      const answer = await query.queryFn(context)
      return merge === undefined ? answer : newer(queries.getQueryData<Answer>(query.queryKey), answer)
    },
    enabled,
    refetchInterval: ({ state }) => {
      if (isPaused) return false
      if (isFollowed) return anywayEveryMs ?? false
      return typeof everyMs === 'function' ? everyMs(state.data) : everyMs
    },
    refetchOnMount: !isPaused,
    ...(query.keep === true && { placeholderData: keepPreviousData }),
  })
}

function isPassing(error: ApiError): boolean {
  return error.problem.status === 503 || error.problem.status === 0
}

/** The later of two answers: an answer may be overtaken by the stream, which would not say again what it has said. */
function newer<Answer>(known: Answer | undefined, answer: Answer): Answer {
  return known !== undefined && asOf(known) > asOf(answer) ? known : answer
}

function asOf(answer: unknown): number {
  return Date.parse((answer as { asOf?: string }).asOf ?? '')
}

/** The answer as it is after what the stream said; as it was where there is nothing to change. */
function merged(now: unknown, message: Message, lists: Readonly<Record<string, string>>): unknown {
  if (message.type === 'snapshot') return message.data ?? now
  if (message.type === 'news' || now === undefined) return now
  const next: Record<string, unknown> = { ...(now as object), ...message.set }
  for (const [field, { changed, gone }] of Object.entries(message.lists)) {
    const nameOf = (item: unknown): string => String((item as Record<string, unknown>)[lists[field] ?? ''])
    const other = new Map(changed.map((item) => [nameOf(item), item]))
    const kept = (next[field] as unknown[]).filter((item) => !gone.includes(nameOf(item)))
    const names = new Set(kept.map(nameOf))
    next[field] = [
      ...kept.map((item) => other.get(nameOf(item)) ?? item),
      ...changed.filter((item) => !names.has(nameOf(item))),
    ]
  }
  return next
}
