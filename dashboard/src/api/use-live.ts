import { keepPreviousData, QueryClient, useQuery } from '@tanstack/react-query'
import type { QueryKey, UseQueryResult } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import type { ApiError } from './client.ts'
import { live } from './live.ts'
import type { LiveState, Message } from './live.ts'

export const pollMs = 5_000
/** The shortest time between two fetches, however many messages a topic gets. */
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
  /** The topic of the stream; a query without a topic is polled. */
  topic?: string | undefined
  /** For a topic that has the whole answer: its lists, each with the field that identifies an item. */
  merge?: Readonly<Record<string, string>> | undefined
  /** How often to poll without a topic, or while the stream is down. */
  everyMs?: number | ((answer: Answer | undefined) => number) | undefined
  /** How often to poll also while the stream is up, for a topic that has only a part of the answer. */
  anywayEveryMs?: number | undefined
  enabled?: boolean | undefined
  /** Keeps showing the old data while another page or filter loads. */
  keep?: boolean | undefined
}

/** A query that the stream keeps up to date if it has a topic; without one, or while the stream is down, it polls. */
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
    // One fetch at a time: a new fetch cancels the running one, so with frequent news a slow answer would never arrive.
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

/** The newer of two answers. The stream may be ahead of a fetched answer, and does not repeat its changes. */
function newer<Answer>(known: Answer | undefined, answer: Answer): Answer {
  return known !== undefined && asOf(known) > asOf(answer) ? known : answer
}

function asOf(answer: unknown): number {
  return Date.parse((answer as { asOf?: string }).asOf ?? '')
}

/** The answer with the changes of a message; the same object if there are none. */
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
