import { createInterface } from 'node:readline/promises'
import { printableJson } from '../core/printable.ts'
import { choose } from './arguments.ts'
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
export const outputHelp = `  -o, --output FORMAT   table (default), json: the library's objects, or id: one id a line`

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

/** Rows under their heads, each column as wide as its widest cell. */
export function table(heads: readonly Head[], rows: readonly (readonly Cell[])[]): string {
  const isRight = heads.map((head) => head.startsWith('>'))
  const lines = [heads.map((head) => head.replace(/^>/, '')), ...rows].map((line) =>
    line.map((cell) => {
      const { text, style } = typeof cell === 'string' ? { text: cell, style: undefined } : cell
      return { text: oneLine(text, 200), style }
    }),
  )
  const widths = heads.map((_, column) => Math.max(...lines.map((line) => line[column]?.text.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map(({ text, style }, column) => {
          const pad = ' '.repeat((widths[column] ?? 0) - text.length)
          const shown = paint({ text, style })
          return isRight[column] === true ? `${pad}${shown}` : `${shown}${pad}`
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
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
