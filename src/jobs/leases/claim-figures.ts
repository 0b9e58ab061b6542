import { binCount, mergeBins } from '../../core/histogram.ts'
import type { Bins } from '../../core/histogram.ts'
import { numbersIn } from '../../core/json/stored-json.ts'
import { peek } from '../../core/failures/thrown.ts'

/** The statements that claim: of jobs without keys, of keys, and under limits. */
export const claimWays = ['plain', 'lanes', 'limited'] as const
export type ClaimWay = (typeof claimWays)[number]

/** What a worker reports about its claims with a heartbeat. */
export interface ReportedClaims {
  /** How long claims took within about the last minute. */
  ways: Partial<Record<ClaimWay, Bins>>
  /** Keys of each queue that may have work; a queue without keys is missing. */
  lanes: Record<string, number>
}

/** The same of several workers. */
export interface ClaimFigures {
  ways: Readonly<Partial<Record<ClaimWay, Bins>>>
  lanes: ReadonlyMap<string, number>
}

/** Each worker has a ring of its own with about the same keys: the longest one counts. */
export function mergeClaims(stored: readonly unknown[]): ClaimFigures {
  const lanes = new Map<string, number>()
  for (const one of stored)
    for (const [queue, keys] of Object.entries(numbersIn(peek(one, 'lanes'))))
      lanes.set(queue, Math.max(keys, lanes.get(queue) ?? 0))
  const ways = claimWays.map((way) => {
    const bins = stored.map((one) => binsIn(peek(peek(one, 'ways'), way)))
    return [way, mergeBins(...bins)] as const
  })
  return { ways: Object.fromEntries(ways), lanes }
}

/** Another role may have written anything. */
function binsIn(stored: unknown): Bins {
  const bins = Object.entries(numbersIn(stored))
  return Object.fromEntries(bins.filter(([bin, count]) => /^\d+$/.test(bin) && +bin < binCount && count > 0))
}
