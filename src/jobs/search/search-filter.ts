import type { Where } from '../../core/filter/where.ts'

/** A filter as the parameters of jobs/fragments/matches.sql. */
export type Filter = ReturnType<typeof filterOf>

export function filterOf(
  where: Where,
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
  const words = Object.entries(where.search ?? {}).map(([name, values]) =>
    values.map((value) => `${name}:${value}`),
  )
  return {
    states: where.states ?? null,
    queues: where.queues ?? null,
    kinds: where.kinds?.map(likePattern) ?? null,
    keys: where.keys ?? null,
    workers: where.workers ?? null,
    correlations: where.correlations ?? null,
    reasons: where.reasons ?? null,
    priorities: where.priorities ?? null,
    madeBefore: ago(where.olderMs),
    madeAfter: ago(where.youngerMs),
    asOf: asOf ?? null,
    discarded: where.isDiscarded ?? (isShown ? null : false),
    // One that was edited into another job may lie in the trash too: is:discarded alone does not ask.
    replaced: where.isReplaced ?? (isShown || where.isDiscarded === true ? null : false),
    words: words.length === 0 ? null : JSON.stringify(words),
  }
}

/** `charge.*` is `charge.%`; what LIKE would take for a sign of its own is escaped. */
function likePattern(text: string): string {
  const escaped = (text.endsWith('*') ? text.slice(0, -1) : text).replace(/[\\%_]/g, '\\$&')
  return text.endsWith('*') ? `${escaped}%` : escaped
}
