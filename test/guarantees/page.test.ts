import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withResults } from './harness/page.ts'
import { readResults } from './harness/results.ts'

test('docs/reliability.md shows exactly the results of the last published runs', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/reliability.md'), 'utf8')
  expect(page).toBe(withResults(page, readResults()))
})
