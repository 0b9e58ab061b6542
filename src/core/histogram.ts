import { numbersIn } from './json/stored-json.ts'

/**
 * Durations counted in bins that grow by 9 % each: any percentile read from them is within 4.5 % of the exact one, for
 * durations from a microsecond to 49 days. Two histograms are merged by adding what is in the same bin, so that those of
 * many processes and minutes make one, and the figure of the whole is as good as that of a part.
 *
 * As stored and sent they are sparse: `{ "131": 4 }`.
 */
export type Bins = Readonly<Record<string, number>>

const binsPerDoubling = 8
/** The first bin above zero begins at 2^-10 ms: a shorter duration is rounding and no measurement. */
const firstExponent = -10
const shortestMs = 2 ** firstExponent
export const binCount = 1 + (32 - firstExponent) * binsPerDoubling

/** The bin of a duration; one below a microsecond, or a value that is no duration, falls into bin 0. */
export function binOf(ms: number): number {
  if (!(ms >= shortestMs)) return 0
  const bin = 1 + Math.floor((Math.log2(ms) - firstExponent) * binsPerDoubling)
  return bin < binCount ? bin : binCount - 1
}

/** The duration that stands for all in a bin: the middle, by ratio. */
export function middleOf(bin: number): number {
  return bin === 0 ? 0 : 2 ** ((bin - 0.5) / binsPerDoubling + firstExponent)
}

/** The stored, sparse form of a dense histogram. */
export function toBins(counts: Uint32Array | Float64Array): Bins {
  const bins: Record<string, number> = {}
  for (const [bin, count] of counts.entries()) if (count > 0) bins[bin] = count
  return bins
}

const [zero, nine, colon, comma, brace, point] = [48, 57, 58, 44, 125, 46] as const

/**
 * Adds a histogram as the database prints it, `{"131": 4, "132": 1}`, to a dense one; `times` is how many histograms it
 * stands for. One page merges thousands, and parsing each into an object would be most of the cost.
 */
export function addPrinted(counts: Float64Array, printed: string, times: number): void {
  let [bin, number, isFraction] = [0, 0, false]
  for (let at = 0; at < printed.length; at++) {
    const code = printed.charCodeAt(at)
    if (code >= zero && code <= nine) {
      if (!isFraction) number = number * 10 + code - zero
    } else if (code === point) isFraction = true
    else if (code === colon) {
      bin = number
      number = 0
    } else if (code === comma || code === brace) {
      if (bin < counts.length) counts[bin] = (counts[bin] ?? 0) + number * times
      number = 0
      isFraction = false
    }
  }
}

export function mergeBins(...all: readonly Bins[]): Bins {
  const merged: Record<string, number> = {}
  for (const bins of all)
    for (const [bin, count] of Object.entries(numbersIn(bins))) merged[bin] = (merged[bin] ?? 0) + count
  return merged
}

export function countOf(bins: Bins): number {
  return Object.values(bins).reduce((sum, count) => sum + count, 0)
}

/** The smallest duration that a share of all does not exceed (nearest rank); null if nothing was counted. */
export function percentile(bins: Bins, share: number): number | null {
  const total = countOf(bins)
  if (total === 0) return null
  const rank = Math.max(1, Math.ceil(share * total))
  const ordered = Object.entries(bins)
    .map(([bin, count]) => [Number(bin), count] as const)
    .sort(([a], [b]) => a - b)
  let seen = 0
  for (const [bin, count] of ordered) {
    seen += count
    if (seen >= rank) return middleOf(bin)
  }
  return null
}
