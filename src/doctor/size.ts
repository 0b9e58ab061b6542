const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** A number of bytes as people say it: `8 kB`, `1.4 GB`. */
export function size(bytes: number): string {
  let amount = bytes
  let unit = 0
  while (amount >= 1_024 && unit < units.length - 1) {
    amount /= 1_024
    unit++
  }
  return `${amount < 10 && unit > 0 ? amount.toFixed(1).replace('.0', '') : Math.round(amount)} ${units[unit] ?? ''}`
}
