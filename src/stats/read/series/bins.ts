import { addPrinted, binCount, percentile, toBins } from '../../../core/histogram.ts'
import type { Bins } from '../../../core/histogram.ts'

/** A row with the histograms of wait and run, as the database prints them. */
export interface Measured {
  wait: string
  run: string
}

/** Histograms that others are added to. */
export class MergedBins {
  readonly #wait = new Float64Array(binCount)
  readonly #run = new Float64Array(binCount)

  /** `times`: the number of rows that this one stands for. */
  add({ wait, run }: Measured, times = 1): void {
    addPrinted(this.#wait, wait, times)
    addPrinted(this.#run, run, times)
  }

  get wait(): Bins {
    return toBins(this.#wait)
  }

  get run(): Bins {
    return toBins(this.#run)
  }

  /** The 50th and 95th percentile of both. */
  percentiles(): {
    waitP50: number | null
    waitP95: number | null
    runP50: number | null
    runP95: number | null
  } {
    const { wait, run } = this
    return {
      waitP50: percentile(wait, 0.5),
      waitP95: percentile(wait, 0.95),
      runP50: percentile(run, 0.5),
      runP95: percentile(run, 0.95),
    }
  }
}

/** Rows whose histograms are merged at most, for one answer. Each has dozens of bins; this takes some milliseconds. */
const mostRows = 1_000

/** The n of "one row in n is read". */
export function everyOf(rows: readonly { rows: number }[]): number {
  const all = rows.reduce((sum, row) => sum + row.rows, 0)
  return Math.max(1, Math.ceil(all / mostRows))
}
