import { createRequire } from 'node:module'
import { notExternal } from './not-external.ts'

/**
 * The path of a program or thread of this package, by its name below dist. The built file is used also when running
 * from source: a thread cannot load TypeScript on every Node we support.
 */
export function builtFile(name: string): string {
  try {
    return createRequire(import.meta.url).resolve(`#dist/${name}`)
  } catch (error) {
    throw notExternal(error)
  }
}
