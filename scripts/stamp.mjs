// Tells whether the inputs of a build are the same as at the last build.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** One hash over these files and all files below these folders, tests left out. */
export function stampOf(names) {
  const hash = createHash('sha256')
  for (const file of names.flatMap(filesBelow)) {
    const content = readFileSync(join(root, file))
    hash.update(file).update('\0').update(content).update('\0')
  }
  return hash.digest('hex')
}

function filesBelow(name) {
  if (statSync(join(root, name)).isFile()) return [name]
  return readdirSync(join(root, name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .filter(({ name: file }) => !/\.test(-d)?\.ts$/.test(file))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort()
}
