/*
 * Runs the tests that depend on the version of Node with other versions, which come from npm: the oldest that `engines`
 * allows and the newest; in the medium form (`npm run deep`) also every line between them.
 */
import { spawnSync } from 'node:child_process'

const lines = ['20.19.6', '22.23.3', '24.21.0', '26.10.0']
const isWhole = process.env.STINT_TEST_FORM === 'medium'
const versions = isWhole ? lines : [lines[0], lines.at(-1)]
// Processes, threads, signals, loading of TypeScript, the published package: the other tests depend on PostgreSQL, not on
// Node.
const files = [
  'test/promises/crash.test.ts',
  'test/promises/wake-up.test.ts',
  'test/worker/isolation-programs.test.ts',
  'test/dev.test.ts',
  'test/pack.test.ts',
]

for (const version of versions) {
  console.log(`\n-- Node ${version}`)
  const vitest = ['node', 'node_modules/vitest/vitest.mjs', 'run', ...files]
  const { status } = spawnSync('npx', ['-y', '-p', `node@${version}`, ...vitest], { stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}
