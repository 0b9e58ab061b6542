import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { finish } from '../../support/processes.ts'

const repository = join(import.meta.dirname, '../../..')

/** The package compiled file by file, because a mutant names lines of one source file, which the bundle does not keep. */
export const compiled = join(repository, '.stint/mutants/compiled')

/** Compiles the package once for the run; each file of mutants changes its own copy. */
export async function setup(): Promise<() => Promise<void>> {
  const compiler = [join(repository, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json']
  // The build info is removed with the output: otherwise the next run would find nothing to compile.
  const memory = ['--tsBuildInfoFile', join(compiled, '.tsbuildinfo')]
  const output = ['--emitDeclarationOnly', 'false', '--declaration', 'false', '--outDir', compiled, ...memory]
  const { code, stdout } = await finish(process.execPath, [...compiler, ...output], { cwd: repository })
  if (code !== 0) throw new Error(`The package cannot be compiled: ${stdout}`)
  return () => rm(compiled, { recursive: true, force: true })
}
