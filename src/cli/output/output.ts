import { createInterface } from 'node:readline/promises'
import { printableJson } from '../../core/json/printable.ts'
import { choose } from '../arguments.ts'
import { oneLine, paint, safe } from './format.ts'
import type { Styled } from './format.ts'

/*
 * All that the command line writes goes through say, note, sayJson and ask: none of them lets a control character of
 * stored data reach the terminal.
 */

/** Data for standard output; gives the exit code of success. */
export function say(text: string): 0 {
  console.log(safe(text))
  return 0
}

/** Prose: it must not get into what another program reads. */
export function note(text: string): void {
  console.error(safe(text))
}

/** A library's object as it is; dates become ISO 8601. */
export function sayJson(value: unknown): 0 {
  console.log(jsonText(value))
  return 0
}

/** JSON over several lines, valid and with nothing in it that steers a terminal. */
export function jsonText(value: unknown): string {
  return printableJson(JSON.stringify(value, undefined, 2))
}

/** Asks the person at the terminal and gives the answer. */
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

/** For what has no ids to be printed one a line. */
export const formatHelp = `  -o, --output FORMAT   table (default) or json: the library's objects`

export function isJson(text: string): boolean {
  return choose('output', text, ['table', 'json']) === 'json'
}

export type Cell = string | Styled
/** A head; of a column of numbers with `>` in front, which sets it to the right. */
export type Head = string

export interface Fit {
  /** Heads of columns that may be left out in a narrow terminal, the least needed first. */
  spare?: readonly string[]
  /** Characters that the caller puts in front of each line. */
  indent?: number
}

/**
 * Rows under their heads, each column as wide as its widest cell. In a terminal no line is wider than that: spare
 * columns are left out, and texts are cut, the longest first; ids and numbers stay whole.
 */
export function table(
  heads: readonly Head[],
  rows: readonly (readonly Cell[])[],
  { spare = [], indent = 0 }: Fit = {},
): string {
  const width = (process.stdout.isTTY ? process.stdout.columns : Infinity) - indent
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
/** Cut to less than this, a text says nothing; the last one of a line is what people read, an error for instance. */
const leastOfOthers = 8
const leastOfLast = 20

interface Column {
  head: string
  isRight: boolean
  cells: readonly Styled[]
  width: number
  /** What it can be cut to. */
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

/** The widths with which all fit, as far as that can be. */
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

/** Names and values in two columns; what has no value is left out. */
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
