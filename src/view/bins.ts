import { percentile } from '../core/histogram.ts'
import type { Bins } from '../core/histogram.ts'

/** A row with the histograms of wait and run. */
export interface Measured {
  wait: Bins
  run: Bins
}

/** Histograms that others are added to. */
export class MergedBins implements Measured {
  readonly wait: Record<string, number> = {}
  readonly run: Record<string, number> = {}

  /** `times`: how many rows it stands for. */
  add({ wait, run }: Measured, times = 1): void {
    addTo(this.wait, wait, times)
    addTo(this.run, run, times)
  }

  get waitP50(): number | null {
    return percentile(this.wait, 0.5)
  }

  get waitP95(): number | null {
    return percentile(this.wait, 0.95)
  }

  get runP50(): number | null {
    return percentile(this.run, 0.5)
  }

  get runP95(): number | null {
    return percentile(this.run, 0.95)
  }
}

function addTo(sum: Record<string, number>, bins: Bins, times: number): void {
  for (const bin in bins) sum[bin] = (sum[bin] ?? 0) + (bins[bin] ?? 0) * times
}

/** Rows whose histograms are merged at most, for one answer. Each has dozens of bins; this takes some milliseconds. */
const mostRows = 2_000

/** One in how many rows is taken. */
export function everyOf(rows: readonly { rows: number }[]): number {
  const all = rows.reduce((sum, row) => sum + row.rows, 0)
  return Math.max(1, Math.ceil(all / mostRows))
}
