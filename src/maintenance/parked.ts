import { mayBeOneRows } from '../db/classify.ts'

const firstMs = 5_000
const longestMs = 600_000
/** More than that in one pass are no single rows: something is wrong with all of them. */
const mostInOnePass = 20

/**
 * Rows that could not be handled and are passed by for a while, longer each time, so that they keep nobody waiting and
 * are not tried in a hot loop. Of this process only: another one finds out for itself.
 */
export class Parked {
  readonly #rows = new Map<string, { until: number; times: number }>()
  readonly #onParked: (id: string, error: unknown, forMs: number) => void

  constructor(onParked: (id: string, error: unknown, forMs: number) => void) {
    this.#onParked = onParked
  }

  /** Those that are passed by now. */
  ids(now = performance.now()): string[] {
    return [...this.#rows].flatMap(([id, { until }]) => (until > now ? [id] : []))
  }

  /**
   * Does something to all of these at once. Where one of them may be what is in the way, to halves, and so on until it
   * is alone: that one is parked, the others are done.
   */
  async without<Done>(
    ids: readonly string[],
    act: (ids: readonly string[]) => Promise<readonly Done[]>,
  ): Promise<Done[]> {
    let bad = 0
    const some = async (part: readonly string[]): Promise<Done[]> => {
      try {
        const done = await act(part)
        for (const id of this.#rows.size > 0 ? part : []) this.#rows.delete(id)
        return [...done]
      } catch (error) {
        if (!mayBeOneRows(error) || bad >= mostInOnePass) throw error
        const [only] = part
        if (part.length === 1 && only !== undefined) {
          bad++
          this.park(only, error)
          return []
        }
        const middle = Math.ceil(part.length / 2)
        return [...(await some(part.slice(0, middle))), ...(await some(part.slice(middle)))]
      }
    }
    return ids.length === 0 ? [] : some(ids)
  }

  /** Passes this one by for a while. */
  park(id: string, error: unknown): void {
    const times = (this.#rows.get(id)?.times ?? 0) + 1
    const forMs = Math.min(longestMs, firstMs * 2 ** (times - 1))
    this.#rows.set(id, { until: performance.now() + forMs, times })
    this.#onParked(id, error, forMs)
  }
}
