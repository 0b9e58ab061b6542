import { expect } from 'vitest'

/** Collects all problems by reader, so that one run shows all. Values of one column with the same problem share a line. */
export class Findings {
  readonly #found = new Map<string, Map<string, Set<string>>>()
  size = 0

  add(reader: string, about: string, problem: unknown): void {
    const [, place = lineOf(about), value = ''] = /^(.*\w+\.\w+) = (.*)$/s.exec(about) ?? []
    const line = `${place}\n${lineOf(problem)}`
    const lines = this.#found.get(reader) ?? new Map<string, Set<string>>()
    this.#found.set(reader, lines.set(line, (lines.get(line) ?? new Set()).add(value)))
    this.size++
  }

  /** Fails with the whole list, if there is one. */
  expectNone(): void {
    const lines = [...this.#found].flatMap(([reader, found]) => [
      reader,
      ...[...found].map(([line, values]) => {
        const [place = '', problem = ''] = line.split('\n')
        const named = [...values].filter((value) => value !== '')
        return `  ${place}${named.length === 0 ? '' : ` = ${named.join(', ')}`}: ${problem}`
      }),
    ])
    if (lines.length > 0) expect.fail(`Hostile values get in the way.\n${lines.join('\n')}`)
  }
}

/** A problem in one line of ASCII. */
export function lineOf(problem: unknown): string {
  const text = problem instanceof Error ? (problem.stack ?? problem.message) : String(problem)
  const [first = '', second = ''] = text.split('\n')
  const [, detail] = /"detail":"([^"]*)/.exec(text) ?? []
  return (detail === undefined ? `${first} ${second.trim()}` : `${text.slice(0, 3)} ${detail}`)
    .replaceAll(/[^\x20-\x7e]/g, '?')
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f-]{22}/g, '<id>')
    .trim()
    .slice(0, 200)
}
