/*
 * Everything that is too long for `npm test` and `.ci/run`: the expensive tests in their medium form, every mutant, both
 * lanes in full, and every line of Node. Continues after a failure, and prints the result of each step at the end.
 *
 *   npm run deep                   all of it
 *   npm run deep -- mutants nodes  some of it
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { run, summarise } from './run.mjs'

const vitest = [process.execPath, 'node_modules/vitest/vitest.mjs', 'run']
const medium = { STINT_TEST_FORM: 'medium' }

const steps = {
  forms: { command: [...vitest, ...filesWithForms()], env: medium },
  mutants: { command: [...vitest, '--config', 'test/guarantees/mutants/vitest.config.ts'] },
  pgbouncer: { command: vitest, env: { ...medium, STINT_TEST_LANE: 'pgbouncer' } },
  'no-notify': { command: vitest, env: { ...medium, STINT_TEST_LANE: 'no-notify' } },
  nodes: { command: [process.execPath, 'scripts/test-nodes.mjs'], env: medium },
}

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !Object.hasOwn(steps, name))
if (unknown.length > 0) {
  console.error(`There is no step ${unknown.join(', ')}. Steps: ${Object.keys(steps).join(', ')}`)
  process.exit(2)
}

const done = []
for (const [name, { command, env }] of Object.entries(steps)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  console.log(`\n== ${name}`)
  done.push({ name, ...(await run(command, { env })) })
}
summarise(done)
process.exitCode = done.every(({ code }) => code === 0) ? 0 : 1

/** The test files that do more in the medium form: they name test/support/form.ts, or are experiments. */
function filesWithForms() {
  return readdirSync('test', { recursive: true })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', name))
    .filter((file) => /support\/form\.ts|harness\/experiment\.ts'/.test(readFileSync(file, 'utf8')))
}
