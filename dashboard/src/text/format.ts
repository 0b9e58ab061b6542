/** Formats numbers, durations and names for people, in the same way as the CLI (src/cli/output/format.ts). */
const unitMs = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 } as const
const units = Object.entries(unitMs)

/** In the two largest units: `850ms`, `2.1s`, `12s`, `3m12s`, `2h5m`, `4d3h`. */
export function span(ms: number): string {
  const whole = Math.max(0, Math.round(ms))
  if (whole < 1_000) return `${whole}ms`
  if (whole < 9_950) return `${(whole / 1_000).toFixed(1).replace('.0', '')}s`
  const first = units.findIndex(([, size]) => whole >= size)
  let rest = whole
  return units
    .slice(first, first + 2)
    .map(([unit, size]) => {
      const amount = Math.floor(rest / size)
      rest -= amount * size
      return amount === 0 ? '' : `${amount}${unit}`
    })
    .join('')
}

/** Rounded to minutes, below one minute to seconds, for values that change every second: `now`, `12s`, `3m`, `2h5m`, `2d23h`. */
export function shortSpan(ms: number): string {
  if (ms < 1_000) return 'now'
  if (ms < unitMs.m) return `${Math.floor(ms / 1_000)}s`
  const toThe = ms < unitMs.d - unitMs.m / 2 ? unitMs.m : unitMs.h
  return span(Math.round(ms / toThe) * toThe)
}

export interface CountOf {
  count: number
  exact: boolean
}

const grouped = new Intl.NumberFormat('en-US')

export function whole(count: number): string {
  return grouped.format(count)
}

/** `1,204`; a count that stopped at a limit, rounded down: `1.6k+`. */
export function countText({ count, exact }: CountOf): string {
  return exact ? whole(count) : `${twoDigits(count, Math.floor)}+`
}

/** An estimate, rounded to two digits: `≈150k`. */
export function estimateText(count: number): string {
  return `≈${twoDigits(count, Math.round)}`
}

/** Which figures of a queue are not exact. */
export interface Inexact {
  estimated: readonly string[]
  atLeast: readonly string[]
}

/** The jobs of a queue in a state: `1,204`, an estimate `≈150k`, or a count that stopped at a limit `1.6k+`. */
export function figureText(count: number, state: string, { estimated, atLeast }: Inexact): string {
  if (estimated.includes(state) && count > 0) return estimateText(count)
  return countText({ count, exact: !atLeast.includes(state) })
}

function twoDigits(count: number, round: (value: number) => number): string {
  const size = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, count))) - 1)
  const rounded = round(count / size) * size
  if (rounded >= 1e6) return `${rounded / 1e6}M`
  return rounded >= 1e3 ? `${rounded / 1e3}k` : String(rounded)
}

/** Three digits and a unit: `0.42`, `850`, `12.3k`, `4.97M`. */
export function short(count: number): string {
  if (count >= 1e3 && count < 1e4) return whole(Math.round(count))
  const [unit, size] = count >= 1e6 ? ['M', 1e6] : count >= 1e4 ? ['k', 1e3] : ['', 1]
  const shown = (count / size).toPrecision(3)
  return `${shown.includes('.') ? shown.replace(/\.?0+$/, '') : String(Number(shown))}${unit}`
}

export function rate(perSecond: number): string {
  if (perSecond === 0) return '0/s'
  if (perSecond < 0.1) return `${short(perSecond * 60)}/min`
  return `${short(perSecond)}/s`
}

export function percent(share: number | null): string {
  if (share === null) return '–'
  if (share === 0) return '0%'
  const value = share * 100
  return value < 0.1 ? '<0.1%' : `${value < 10 ? value.toFixed(1).replace('.0', '') : Math.round(value)}%`
}

export function bytes(size: number): string {
  if (size < 1_024) return `${size} B`
  const [unit, of] =
    size >= 1_073_741_824 ? ['GB', 1_073_741_824] : size >= 1_048_576 ? ['MB', 1_048_576] : ['KB', 1_024]
  return `${(size / of).toFixed(size / of < 10 ? 1 : 0)} ${unit}`
}

/** The end of an id. The beginning of a UUIDv7 is its time, so jobs of the same moment differ only at the end. */
export function shortId(id: string): string {
  return `…${id.slice(-4)}`
}

/** Failed attempts: those that are retried, and the last attempts of jobs that died. */
export function failedText(counts: { failed: number; dead: number; failureRate: number | null }): string {
  const failed = counts.failed + counts.dead
  const share = counts.failureRate === null ? '' : ` (${percent(counts.failureRate)})`
  return `${short(failed)} ${failed === 1 ? 'attempt' : 'attempts'} failed${share}`
}

/** The text beside a number of running jobs, which may exceed the slots: workers claim some jobs ahead, and a lost worker keeps its jobs for a while. */
export function slotsText(running: number, slots: number): string {
  return running <= slots
    ? `of ${plural(slots, 'slot')}`
    : `${plural(slots, 'slot')}, ${whole(running - slots)} claimed ahead`
}

/** `1 job`, `2 jobs` */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${whole(count)} ${count === 1 ? one : many}`
}

/** Whether the text is the end of an id, as tables and other places show it. */
export function isIdEnd(text: string): boolean {
  return /^…?[\da-f]{4,12}$/i.test(text)
}

const uuid = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i
export function isUuid(text: string): boolean {
  return uuid.test(text)
}
