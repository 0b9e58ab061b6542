/*
 * A check of at most a minute for the inner loop: formatting and lint of the files that changed since main, types, and
 * the tests that import changed files (`vitest --changed`), as many as fit. test/support/sequence.ts prefers the fast
 * ones, and prints how many it left out.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { run, summarise } from './run.mjs'

const base = baseOf(['@{upstream}', 'origin/main', 'main'])
const changed = [
  ...linesOf('git', 'diff', '--name-only', '--diff-filter=d', base),
  ...linesOf('git', 'ls-files', '--others', '--exclude-standard'),
]
if (changed.length === 0) {
  console.log(`Nothing has changed since ${base.slice(0, 7)}.`)
  process.exit(0)
}
console.log(`${changed.length} files have changed since ${base.slice(0, 7)}`)

const sources = changed.filter((file) => /\.(ts|tsx|js|mjs)$/.test(file) && !file.startsWith('bench/'))
const bin = (name, ...args) => [process.execPath, `node_modules/${name}`, ...args]
const types = (project, name) =>
  bin('typescript/bin/tsc', '-p', project, '--incremental', '--tsBuildInfoFile', `.stint/types/${name}`)
const tests = bin('vitest/vitest.mjs', 'run', '--changed', base, '--passWithNoTests')
const steps = [
  {
    name: 'formatting',
    command: bin('prettier/bin/prettier.cjs', '--check', '--ignore-unknown', ...changed),
  },
  ...(sources.length > 0
    ? [{ name: 'lint', command: bin('eslint/bin/eslint.js', '--no-warn-ignored', ...sources) }]
    : []),
  { name: 'types', command: types('tsconfig.json', 'package') },
  ...(changed.some((file) => file.startsWith('dashboard/'))
    ? [{ name: 'types of the dashboard', command: types('dashboard', 'dashboard') }]
    : []),
  { name: 'tests', command: tests, env: { STINT_TEST_BUDGET: '30' }, isLoud: true },
]
const done = await Promise.all(
  steps.map(async ({ name, command, env, isLoud = false }) => ({
    name,
    ...(await run(command, { env, isQuiet: !isLoud })),
  })),
)
summarise(done)
process.exitCode = done.every(({ code }) => code === 0) ? 0 : 1

/** The merge base with the first of these branches that exists. */
function baseOf(names) {
  for (const name of names) {
    const { status, stdout } = spawnSync('git', ['merge-base', 'HEAD', name], { encoding: 'utf8' })
    if (status === 0) return stdout.trim()
  }
  return 'HEAD'
}

function linesOf(command, ...args) {
  return execFileSync(command, args, { encoding: 'utf8' }).split('\n').filter(Boolean)
}
