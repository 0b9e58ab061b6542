// Builds dist. Does nothing while all that goes in is the same as at the last build, so that every command can begin with it.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './run.mjs'

const root = join(import.meta.dirname, '..')
const stampFile = join(root, 'dist/.stamp')
const node = process.execPath

await must(node, 'scripts/build-sql.mjs')
const stamp = stampOf([
  ...['src', 'dashboard', 'scripts'],
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'],
])
if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp) {
  // A build that fails leaves no stamp, so that the next one begins again.
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

/** One hash over these files and all files below these folders, but for tests. */
function stampOf(names) {
  const hash = createHash('sha256')
  for (const file of names.flatMap(filesBelow))
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(root, file)))
      .update('\0')
  return hash.digest('hex')
}

function filesBelow(name) {
  if (name.endsWith('.json')) return [name]
  return readdirSync(join(root, name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .filter(({ name: file }) => !/\.test(-d)?\.ts$/.test(file))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort()
}
