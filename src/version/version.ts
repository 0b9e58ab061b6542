import { readFileSync } from 'node:fs'

/** Of this package, from its own package.json. */
export function stintVersion(): string {
  const path = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
}
