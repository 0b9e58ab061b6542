import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { named } from '../named/all.ts'
import type { GuaranteeName } from '../named/all.ts'
import { copyBuild, mutate } from './build.ts'
import type { Mutant } from './mutant.ts'

/**
 * Tests of the tests: every guarantee passes for an unchanged copy of the package, and fails for a copy with its mutant.
 * Only a failed assertion counts: a test that breaks in another way has not noticed the mutant.
 */
export function board(mutants: readonly Mutant[]): void {
  const rows: string[][] = []
  let build: Awaited<ReturnType<typeof copyBuild>>
  beforeAll(async () => {
    build = await copyBuild()
  })
  const names = [...new Set(mutants.map(({ caughtBy }) => caughtBy))]

  describe('without a mutant', () => {
    test.each(names)('%s passes for the package without a mutant', async (name: GuaranteeName) => {
      await named[name](build)
    })
  })

  describe('with a mutant', () => {
    test.each(mutants)('$caughtBy catches mutant $id: $what', async (mutant) => {
      const { id, what, caughtBy } = mutant
      const row = [id, what, caughtBy, 'DOES NOT APPLY', '']
      rows.push(row)
      await mutate(build, mutant)
      row[3] = 'SURVIVED'
      const startedAt = performance.now()
      const failure: unknown = await named[caughtBy](build).then(
        () => undefined,
        (error: unknown) => error,
      )
      row[4] = `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`
      if (failure !== undefined) row[3] = isJudgement(failure) ? 'caught' : 'BROKE THE TEST'
      expect(row[3], String(failure)).toBe('caught')
    })
  })

  afterAll(async () => {
    await build.remove()
    process.stdout.write(`\n${tableOf([['mutant', 'what it does', 'test', 'verdict', 'in'], ...rows])}\n`)
  })
}

function isJudgement(failure: unknown): boolean {
  return failure instanceof Error && failure.name === 'AssertionError'
}

function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
