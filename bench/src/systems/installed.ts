import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The version in node_modules, which is the one that runs, also where package.json allows others. */
export function installedVersion(name: string): string {
  const manifest = fileURLToPath(new URL(`../../node_modules/${name}/package.json`, import.meta.url))
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
}
