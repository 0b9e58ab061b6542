/** Two digits of an estimate, which is not more exact than that: `≈150k`. */
export function estimateText(count: number): string {
  return `≈${twoDigits(count, Math.round)}`
}

/** A count that stopped at a limit, rounded down: `1.6k+`. */
export function atLeastText(count: number): string {
  return `${twoDigits(count, Math.floor)}+`
}

function twoDigits(count: number, round: (value: number) => number): string {
  const size = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, count))) - 1)
  const rounded = round(count / size) * size
  if (rounded >= 1e6) return `${rounded / 1e6}M`
  return rounded >= 1e3 ? `${rounded / 1e3}k` : String(rounded)
}
