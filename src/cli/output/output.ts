import { createInterface } from 'node:readline/promises'
import { printableJson } from '../../core/json/printable.ts'
import { choose } from '../arguments.ts'
import { oneLine, paint, safe } from './format.ts'
import type { Styled } from './format.ts'

/*
 * The command line writes only through say, note, sayJson and ask. They remove control characters of stored data, so that
 * these never reach the terminal.
 */

/** Writes data to standard output; returns the exit code of success. */
export function say(text: string): 0 {
  console.log(safe(text))
  return 0
}

/** Writes prose to standard error, so that it does not mix with data that another program reads. */
export function note(text: string): void {
  console.error(safe(text))
}

/** Writes an object of the library as JSON; dates become ISO 8601. */
export function sayJson(value: unknown): 0 {
  console.log(jsonText(value))
  return 0
}

/** Valid JSON over several lines, without control characters for a terminal. */
export function jsonText(value: unknown): string {
  return printableJson(JSON.stringify(value, undefined, 2))
}

/** Asks the person at the terminal and returns the answer. */
export async function ask(question: string): Promise<string> {
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await asking.question(safe(question))
  } finally {
    asking.close()
  }
}

export const outputs = ['table', 'json', 'id'] as const
export type Output = (typeof outputs)[number]

export const outputOption = { output: { type: 'string', short: 'o', default: 'table' } } as const
export const outputHelp = `  -o, --output FORMAT   table (default), json: the library's objects, or id: one id per line`

export function outputOf(text: string): Output {
  return choose('output', text, outputs)
}

/** For commands whose result has no ids. */
export const formatHelp = `  -o, --output FORMAT   table (default) or json: the library's objects`

export function isJson(text: string): boolean {
  return choose('output', text, ['table', 'json']) === 'json'
}

export type Cell = string | Styled
/** The head of a column; a leading `>` aligns the column to the right, for numbers. */
export type Head = string

/** The characters of a line; output that goes elsewhere has no end of a line. */
export function terminalWidth(): number {
  return process.stdout.isTTY ? process.stdout.columns : Infinity
}

export interface Fit {
  /** Heads of columns that may be left out in a narrow terminal, the least needed first. */
  spare?: readonly string[]
  /** How many characters the caller puts in front of each line. */
  indent?: number
}

/**
 * Rows under their heads, each column as wide as its widest cell. No line is wider than the terminal: spare columns are
 * left out, then texts are cut, the longest first; ids and numbers stay whole.
 */
export function table(
  heads: readonly Head[],
  rows: readonly (readonly Cell[])[],
  { spare = [], indent = 0 }: Fit = {},
): string {
  const width = terminalWidth() - indent
  let columns = heads.map((head, index) =>
    columnOf(head, cellsOf(rows, index), index === heads.length - 1 ? leastOfLast : leastOfOthers),
  )
  const leftOut: string[] = []
  for (const name of spare) {
    if (widthOf(columns.map(({ least }) => least)) <= width) break
    columns = columns.filter(({ head }) => head !== name)
    leftOut.push(name)
  }
  const widths = shrunk(columns, width)
  const lines = [undefined, ...rows.keys()].map((row) =>
    columns
      .map(({ head, isRight, cells }, index) => {
        const { text, style } = row === undefined ? { text: head } : (cells[row] ?? { text: '' })
        const cut = oneLine(text, widths[index] ?? 0)
        const pad = ' '.repeat((widths[index] ?? 0) - cut.length)
        return isRight ? `${pad}${paint({ text: cut, style })}` : `${paint({ text: cut, style })}${pad}`
      })
      .join(gap)
      .trimEnd(),
  )
  if (leftOut.length > 0) lines.push(oneLine(`(the terminal is too narrow for ${leftOut.join(', ')})`, width))
  return lines.join('\n')
}

const gap = '  '
/** The minimum widths of texts. The last column gets more, because people read it: it may be an error. */
const leastOfOthers = 8
const leastOfLast = 20

interface Column {
  head: string
  isRight: boolean
  cells: readonly Styled[]
  width: number
  /** The minimum width that it can be cut to. */
  least: number
}

function columnOf(name: Head, cells: readonly Styled[], leastText: number): Column {
  const isRight = name.startsWith('>')
  const head = name.replace(/^>/, '')
  const width = Math.max(head.length, ...cells.map(({ text }) => text.length))
  const isWhole = isRight || cells.some(({ text }) => /^[\da-f-]{16,36}$/.test(text))
  return {
    head,
    isRight,
    cells,
    width,
    least: isWhole ? width : Math.min(width, Math.max(leastText, head.length)),
  }
}

function cellsOf(rows: readonly (readonly Cell[])[], index: number): Styled[] {
  return rows.map((row) => {
    const cell = row[index] ?? ''
    return typeof cell === 'string'
      ? { text: oneLine(cell, 200) }
      : { text: oneLine(cell.text, 200), style: cell.style }
  })
}

function widthOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + gap.length, -gap.length)
}

/** Widths that fit into the line, if the minimum widths allow it. */
function shrunk(columns: readonly Column[], width: number): number[] {
  const widths = columns.map((column) => column.width)
  while (widthOf(widths) > width) {
    const room = widths.map((own, index) => (own > (columns[index]?.least ?? 0) ? own : 0))
    const widest = room.indexOf(Math.max(...room))
    if (room[widest] === 0) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

/** Names and values in two columns, without entries that have no value. */
export function facts(entries: readonly (readonly [name: string, value: Cell | null])[]): string {
  const shown = entries.flatMap(([name, value]) =>
    value === null || value === '' ? [] : ([[name, value]] as const),
  )
  const width = Math.max(...shown.map(([name]) => name.length))
  return shown
    .map(([name, value]) => {
      const { text, style } = typeof value === 'string' ? { text: value, style: undefined } : value
      return `${name.padEnd(width)}  ${paint({ text: oneLine(text, 500), style })}`
    })
    .join('\n')
}
