import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { finish } from '../../support/processes.ts'

const repository = join(import.meta.dirname, '../../..')

/** The package compiled file by file: a mutant changes lines of a source that can be told there, and not in the bundle. */
export const compiled = join(repository, '.stint/mutants/compiled')

/** Once for the run; each file of mutants changes a copy of its own. */
export async function setup(): Promise<() => Promise<void>> {
  const compiler = [join(repository, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json']
  // What it remembers goes with what it made: else it would find nothing to do the next time.
  const memory = ['--tsBuildInfoFile', join(compiled, '.tsbuildinfo')]
  const output = ['--emitDeclarationOnly', 'false', '--declaration', 'false', '--outDir', compiled, ...memory]
  const { code, stdout } = await finish(process.execPath, [...compiler, ...output], { cwd: repository })
  if (code !== 0) throw new Error(`The package cannot be compiled: ${stdout}`)
  return () => rm(compiled, { recursive: true, force: true })
}
