import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withResults } from './harness/page.ts'
import { resultsFile } from './harness/results.ts'
import type { Results } from './harness/results.ts'

test('what docs/reliability.md says is what the last published run found, and nobody has edited it', () => {
  const results = JSON.parse(readFileSync(resultsFile, 'utf8')) as Results
  const page = readFileSync(join(import.meta.dirname, '../../docs/reliability.md'), 'utf8')
  expect(page).toBe(withResults(page, results))
})
