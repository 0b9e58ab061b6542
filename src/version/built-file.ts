import { createRequire } from 'node:module'

/**
 * The path of a program or thread of this package, by its name below dist. The built file also where this is run from
 * source: a thread cannot load TypeScript on every Node we support.
 */
export function builtFile(name: string): string {
  return createRequire(import.meta.url).resolve(`#dist/${name}`)
}
