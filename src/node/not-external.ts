import { StintError } from '../core/errors.ts'

/** The error if a file of ours is not found: the program was bundled together with this package. */
export function notExternal(cause: unknown): StintError {
  return new StintError(
    'not-external',
    'This program was bundled together with stint, which runs threads and processes from files of its own. ' +
      'Mark stint as external in your bundler (esbuild: --external:stint --external:stint/*, or --packages=external), ' +
      'and deploy it in node_modules.',
    { cause },
  )
}
