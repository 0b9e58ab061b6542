import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { finish } from '../../support/processes.ts'
import { repository } from '../../support/worker-process.ts'
import type { Build } from '../harness/scene.ts'
import type { Mutant } from './mutants.ts'

/** What a process of the tests needs beside the build: the programs that import it by its name. */
const parts = ['package.json', 'test/promises/programs', 'test/guarantees/programs']

/**
 * The package below this repository, where node_modules is found, compiled file by file: a mutant changes lines of a source
 * that can be told there, and no longer where all of them are bundled.
 */
export async function copyBuild(): Promise<Build & { remove: () => Promise<void> }> {
  const root = join(repository, '.stint/mutants', String(process.pid))
  const remove = (): Promise<void> => rm(root, { recursive: true, force: true })
  await remove()
  await mkdir(root, { recursive: true })
  for (const part of parts) await cp(join(repository, part), join(root, part), { recursive: true })
  const compiler = [join(repository, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json']
  const output = ['--emitDeclarationOnly', 'false', '--declaration', 'false', '--outDir', join(root, 'dist')]
  const { code, stdout } = await finish(process.execPath, [...compiler, ...output], { cwd: repository })
  if (code !== 0) throw new Error(`The package cannot be compiled: ${stdout}`)
  return { root, remove }
}

/** Puts the mutant into a copy for this test. One that no longer applies is an error: it would prove nothing. */
export async function mutate({ root }: Build, { id, file, edits }: Mutant): Promise<void> {
  const path = join(root, 'dist', file)
  const original = await readFile(path, 'utf8')
  let text = original
  for (const { from, to } of edits) {
    const times = text.split(from).length - 1
    if (times !== 1)
      throw new Error(`${id} does not apply: dist/${file} has ${times} × ${JSON.stringify(from)}`)
    text = text.replace(from, () => to)
  }
  onTestFinished(() => writeFile(path, original))
  await writeFile(path, text)
}
