import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { canaryCandidatesSql } from './canary-candidates.sql.ts'
import { markCanarySql } from './mark-canary.sql.ts'

/** A job that may be part of the canary. */
export interface Candidate {
  id: string
  /** Null where it is not dead any more. */
  kind: string | null
  key: string | null
}

/** Candidates read per canary job: enough that keys with few jobs are among them. */
const perChosen = 20
const mostSeen = 10_000

/** Chooses the canary of an operation: the jobs to act on first. */
export async function chooseCanary(
  tx: Queryable,
  { id, count }: { id: string; count: number },
): Promise<void> {
  const most = Math.max(count, Math.min(perChosen * count, mostSeen))
  const candidates = await run(tx, canaryCandidatesSql, { id, most }, (row: Candidate) => row)
  await run(tx, markCanarySql, { id, ids: spread(candidates, count) }, () => undefined)
}

/**
 * Picks jobs, from oldest to newest, that have as little in common as possible. A fault may affect one key, one kind or one
 * time, and ten jobs of the same kind and key say nothing about the others. Each job comes from another stretch of time; there
 * it is the one whose kind and key were picked least so far.
 */
export function spread(candidates: readonly Candidate[], count: number): string[] {
  const stretches = Math.min(count, candidates.length)
  const taken = new Map<string, number>()
  const chosen: string[] = []
  for (let n = 0; n < stretches; n++) {
    const from = Math.floor((n * candidates.length) / stretches)
    const to = Math.floor(((n + 1) * candidates.length) / stretches)
    const best = leastTaken(candidates.slice(from, to), taken)
    if (best === undefined) continue
    chosen.push(best.id)
    for (const name of namesOf(best)) taken.set(name, (taken.get(name) ?? 0) + 1)
  }
  return chosen
}

function leastTaken(
  stretch: readonly Candidate[],
  taken: ReadonlyMap<string, number>,
): Candidate | undefined {
  let best: Candidate | undefined
  let least = Infinity
  for (const one of stretch) {
    // Compare the pair of kind and key first: another key of the same kind is already a different case.
    const [pair = 0, kind = 0, key = 0] = namesOf(one).map((name) => taken.get(name) ?? 0)
    const times = 3 * pair + kind + key
    if (times < least) [best, least] = [one, times]
  }
  return best
}

function namesOf({ kind, key }: Candidate): string[] {
  return [JSON.stringify([kind, key]), JSON.stringify({ kind }), JSON.stringify({ key })]
}
