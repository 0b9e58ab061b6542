// Builds dist. Does nothing if all inputs are the same as at the last build, so that every command can begin with it.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './run.mjs'
import { stampOf } from './stamp.mjs'

const root = join(import.meta.dirname, '..')
const stampFile = join(root, 'dist/.stamp')
const node = process.execPath

await must(node, 'scripts/build-sql.mjs')
const stamp = stampOf([
  'src',
  'dashboard',
  'scripts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
])
if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp) {
  // A build that fails leaves no stamp, so that the next one starts again.
  rmSync(stampFile, { force: true })
  await Promise.all([
    must(node, 'node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'),
    must(node, 'scripts/build-bundle.mjs'),
    must(node, 'scripts/build-dashboard.mjs'),
  ])
  writeFileSync(stampFile, stamp)
}

async function must(...command) {
  const { code } = await run(command, { cwd: root })
  if (code !== 0) process.exit(1)
}
