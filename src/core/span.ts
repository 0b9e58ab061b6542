import { unitMs } from './duration.ts'

const units = (['d', 'h', 'm', 's'] as const).map((unit) => [unit, unitMs[unit]] as const)

/** A span of time as people say it, in its two largest units: `850ms`, `2.1s`, `12s`, `3m12s`, `2h5m`, `4d3h`. */
export function span(ms: number): string {
  const whole = Math.max(0, Math.round(ms))
  if (whole < 1_000) return `${whole}ms`
  if (whole < 9_950) return `${(whole / 1_000).toFixed(1).replace('.0', '')}s`
  const first = units.findIndex(([, size]) => whole >= size)
  let rest = whole
  const parts = units.slice(first, first + 2).map(([unit, size]) => {
    const amount = Math.floor(rest / size)
    rest -= amount * size
    return amount === 0 ? '' : `${amount}${unit}`
  })
  return parts.join('')
}
