import { isPerhapsOneRow } from '../../db/classify.ts'

const firstMs = 5_000
const longestMs = 600_000
/** If more rows than this fail in one pass, the cause is not in single rows: something is wrong with all of them. */
const mostInOnePass = 20

/**
 * Rows that could not be handled. They are skipped for a while, longer each time, so that other rows do not wait for
 * them and they are not tried in a hot loop. Known to this process only: another one finds out for itself.
 */
export class Parked {
  readonly #rows = new Map<string, { until: number; times: number }>()
  readonly #onParked: (id: string, error: unknown, forMs: number) => void

  constructor(onParked: (id: string, error: unknown, forMs: number) => void) {
    this.#onParked = onParked
  }

  /** The rows to skip now. */
  ids(now = performance.now()): string[] {
    return [...this.#rows].flatMap(([id, { until }]) => (until > now ? [id] : []))
  }

  /**
   * Handles all of these rows at once. If one row may be the cause of a failure, it tries each half, and so on until
   * that row is alone: that row is parked, and the others are handled.
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
        if (!isPerhapsOneRow(error) || bad >= mostInOnePass) throw error
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

  /** Skips this row for a while. */
  park(id: string, error: unknown): void {
    const times = (this.#rows.get(id)?.times ?? 0) + 1
    const forMs = Math.min(longestMs, firstMs * 2 ** (times - 1))
    this.#rows.set(id, { until: performance.now() + forMs, times })
    this.#onParked(id, error, forMs)
  }
}
