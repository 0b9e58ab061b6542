import type { Awaited, Where } from '../../core/filter/where.ts'

/** What a search can look for: what a filter in words says, and what only the typed options of list() and dead.list() say. */
export interface SearchFilter extends Where {
  /** Whole names of kinds: a star is part of the name. */
  readonly kindNames?: readonly string[] | undefined
  /** Whole fingerprints. */
  readonly fingerprints?: readonly string[] | undefined
  /** Whether jobs that were edited into another one are left out. @default as the words of the filter say */
  readonly hidesReplaced?: boolean | undefined
}

/** A filter as the parameters of jobs/fragments/matches.sql. */
export type Filter = ReturnType<typeof filterOf>

export function filterOf(
  where: SearchFilter,
  { now, asOf }: { now: Date; asOf: Date | undefined },
): {
  states: readonly string[] | null
  queues: readonly string[] | null
  kinds: readonly string[] | null
  keys: readonly string[] | null
  workers: readonly string[] | null
  correlations: readonly string[] | null
  reasons: readonly string[] | null
  priorities: readonly number[] | null
  flows: readonly string[] | null
  madeBefore: Date | null
  madeAfter: Date | null
  asOf: Date | null
  discarded: boolean | null
  replaced: boolean | null
  words: string | null
} {
  const ago = (ms: number | undefined): Date | null =>
    ms === undefined ? null : new Date(now.getTime() - ms)
  // A filter by id finds its jobs everywhere, also in the trash.
  const isShown = where.ids !== undefined
  // One that was edited into another job may lie in the trash too: is:discarded alone does not ask.
  const { hidesReplaced = !isShown && where.isDiscarded !== true } = where
  const words = Object.entries(where.search ?? {}).map(([name, values]) =>
    values.map((value) => `${name}:${value}`),
  )
  return {
    states: where.states ?? null,
    queues: where.queues ?? null,
    kinds: where.kindNames?.map(escaped) ?? where.kinds?.map(likePattern) ?? null,
    keys: where.keys ?? null,
    workers: where.workers ?? null,
    correlations: where.correlations ?? null,
    reasons: where.reasons ?? null,
    priorities: where.priorities ?? null,
    flows: where.flows ?? null,
    madeBefore: ago(where.olderMs),
    madeAfter: ago(where.youngerMs),
    asOf: asOf ?? null,
    discarded: where.isDiscarded ?? (isShown ? null : false),
    replaced: where.isReplaced ?? (hidesReplaced ? false : null),
    words: words.length === 0 ? null : JSON.stringify(words),
  }
}

/** The member of stint.job.waits that says so. */
export const waitsKeys: Readonly<Record<Awaited, string>> = {
  signal: 'signals',
  time: 'sleep',
  job: 'jobs',
  children: 'flows',
  flow: 'node',
  parked: 'parked',
}

/** `charge.*` is `charge.%`. */
function likePattern(text: string): string {
  return text.endsWith('*') ? `${escaped(text.slice(0, -1))}%` : escaped(text)
}

/** A pattern for this text alone: characters that have a meaning in LIKE are escaped. */
function escaped(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
