import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from './package-root.ts'

let version: string | undefined

/** The version of this package, from its own package.json. */
export function stintVersion(): string {
  return (version ??= read())
}

function read(): string {
  const text = readFileSync(join(packageRoot(), 'package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
