// Runs all experiments or those in the named files, in the medium form or with --long, and publishes their results:
// results.json, and the part of docs/reliability.md that is generated from it.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { withResults } from './harness/page.ts'
import { readResults, resultsFile, withRunsOf } from './harness/results.ts'

const { values, positionals } = parseArgs({ options: { long: { type: 'boolean' } }, allowPositionals: true })
const form = values.long === true ? 'long' : 'medium'
const folder = mkdtempSync(join(tmpdir(), 'stint-guarantees-'))
const files = positionals.length > 0 ? positionals : ['test/guarantees']
// Without the test that compares the page with the last run: this run changes both.
const args = ['run', ...files, '--exclude', 'test/guarantees/page.test.ts']
const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', ...args], {
  stdio: 'inherit',
  env: { ...process.env, STINT_TEST_FORM: form, STINT_RESULTS: folder },
})
// Each successful run is published with its commit, even if another one failed: running all again takes an hour.
const results = withRunsOf(folder, form, readResults())
writeFileSync(resultsFile, `${JSON.stringify(results, null, 2)}\n`)
const page = join(import.meta.dirname, '../../docs/reliability.md')
writeFileSync(page, withResults(readFileSync(page, 'utf8'), results))
rmSync(folder, { recursive: true })
process.exitCode = status ?? 1
