/*
 * The oldest Node that `engines` allows and one of each line after it: what depends on the version of Node, run with each.
 * They come from npm, whichever Node runs this.
 */
import { spawnSync } from 'node:child_process'

const versions = ['20.19.6', '22.23.3', '24.21.0', '26.10.0']
// Processes, threads, signals, loading of TypeScript, what is published: the rest asks PostgreSQL, not Node.
const files = [
  'test/promises/crash.test.ts',
  'test/promises/wake-up.test.ts',
  'test/worker/isolation-programs.test.ts',
  'test/dev.test.ts',
  'test/pack.test.ts',
]

for (const version of versions) {
  console.log(`\n-- Node ${version}`)
  const vitest = ['node', 'node_modules/vitest/vitest.mjs', 'run', '--typecheck.enabled=false', ...files]
  const { status } = spawnSync('npx', ['-y', '-p', `node@${version}`, ...vitest], { stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}
