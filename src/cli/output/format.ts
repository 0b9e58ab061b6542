import { styleText } from 'node:util'
import { FarTime } from '../../core/far-time.ts'
import type { JobState } from '../../core/job.ts'
import { printable } from '../../core/json/printable.ts'
import { atLeastText, estimateText } from '../../core/estimate.ts'
import { span } from '../../core/span.ts'
import type { CountedState, QueueFigures } from '../../stats/read/queues/figures.ts'

export { estimateText, span }

/** `3m12s ago`, or `in 42s`. */
export function relative(time: Date, now: Date): string {
  if (time instanceof FarTime) return time.stored
  const ms = now.getTime() - time.getTime()
  return ms < 0 ? `in ${span(-ms)}` : `${span(ms)} ago`
}

/** `2026-11-15 10:00:00Z (3m12s ago)` */
export function moment(time: Date | null, now: Date): string {
  if (time === null) return ''
  if (time instanceof FarTime) return time.stored
  return `${time.toISOString().replace('T', ' ').replace(/\.\d+/, '')} (${relative(time, now)})`
}

/** The jobs of a queue in a state: `12`, an estimate `≈150k`, or a count that stopped at a limit `10k+`. */
export function figureText(
  figures: Pick<QueueFigures, CountedState | 'estimated' | 'atLeast'>,
  state: CountedState,
): string {
  const count = figures[state]
  if (figures.estimated.includes(state)) return estimateText(count)
  return figures.atLeast.includes(state) ? atLeastText(count) : String(count)
}

/** Three digits and a unit: `850`, `12.3k`, `4.97M`. */
export function short(count: number): string {
  const [unit, size] = count >= 1e6 ? ['M', 1e6] : count >= 1e3 ? ['k', 1e3] : ['', 1]
  const shown = (count / size).toPrecision(3)
  return `${shown.includes('.') ? shown.replace(/\.?0+$/, '') : Number(shown)}${unit}`
}

/** One character for each count; the highest count fills the line. */
export function sparkline(counts: readonly number[]): string {
  const most = Math.max(1, ...counts)
  return counts
    .map((count) => (count === 0 ? '·' : ('▁▂▃▄▅▆▇█'[Math.ceil((count / most) * 8) - 1] ?? '█')))
    .join('')
}

type Style = Parameters<typeof styleText>[0]

/** Text for a terminal, and its colour if the terminal has colours. */
export interface Styled {
  text: string
  style?: Style | undefined
}

const states: Readonly<Record<JobState, [mark: string, style: Style]>> = {
  scheduled: ['◷', 'blue'],
  waiting: ['◌', 'gray'],
  ready: ['○', 'cyan'],
  running: ['●', 'green'],
  retrying: ['↻', 'yellow'],
  succeeded: ['✓', 'green'],
  dead: ['✖', 'red'],
  cancelled: ['⊘', 'gray'],
}

export function stateText(state: JobState): Styled {
  const [mark, style] = states[state]
  return { text: `${mark} ${state}`, style }
}

/** Colours are for people: a terminal, and NO_COLOR not set. */
const hasColours = process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === ''

/** The text without control characters, in its colour. */
export function paint({ text, style }: Styled): string {
  const shown = printable(text)
  return hasColours && style !== undefined ? styleText(style, shown) : shown
}

/** What `paint` puts around text: bold and colours. */
const colours = /(\x1b\[(?:1|22|3[1-6]|39|90)m)/

/** What may be written to a terminal: no control characters but line feeds, tabs and the colours of `paint`. */
export function safe(text: string): string {
  if (!hasColours) return printable(text)
  return text
    .split(colours)
    .map((part, index) => (index % 2 === 1 ? part : printable(part)))
    .join('')
}

/** Text on one line, cut where it is long. */
export function oneLine(text: string, length = 80): string {
  const line = printable(text.replace(/\s+/g, ' ').trim())
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`
}
