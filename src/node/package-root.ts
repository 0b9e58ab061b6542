import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { notExternal } from './not-external.ts'

/**
 * The folder of this package, no matter which of its files this code is loaded from: the sources, or a chunk of the
 * build.
 */
export function packageRoot(): string {
  try {
    return dirname(createRequire(import.meta.url).resolve('stint/package.json'))
  } catch (error) {
    throw notExternal(error)
  }
}
