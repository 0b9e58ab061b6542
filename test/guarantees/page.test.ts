import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withResults } from './harness/page.ts'
import { readResults } from './harness/results.ts'

test('what docs/reliability.md says is what the last published runs found, and nobody has edited it', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/reliability.md'), 'utf8')
  expect(page).toBe(withResults(page, readResults()))
})
