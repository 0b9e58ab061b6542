import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { repository } from '../../support/worker-process.ts'
import type { Build } from '../harness/scene.ts'
import { compiled } from './compile.ts'
import type { Mutant } from './mutant.ts'

/** What the test processes need beside `dist`: the programs that import the package by its name. */
const parts = ['package.json', 'test/promises/programs', 'test/guarantees/programs']

/** Copies the compiled package to a folder inside this repository, where node_modules is found. */
export async function copyBuild(): Promise<Build & { remove: () => Promise<void> }> {
  const root = join(repository, '.stint/mutants', String(process.pid))
  const remove = (): Promise<void> => rm(root, { recursive: true, force: true })
  await remove()
  await mkdir(root, { recursive: true })
  for (const part of parts) await cp(join(repository, part), join(root, part), { recursive: true })
  await cp(compiled, join(root, 'dist'), { recursive: true })
  return { root, remove }
}

/** Puts the mutant into a copy until the test has finished. */
export async function mutate({ root }: Build, mutant: Mutant): Promise<void> {
  const path = join(root, 'dist', mutant.file)
  const original = await readFile(path, 'utf8')
  const text = mutated(original, mutant)
  onTestFinished(() => writeFile(path, original))
  await writeFile(path, text)
}

/** The compiled file with the mutant in it. Throws for a mutant that no longer applies, because it would prove nothing. */
export function mutated(original: string, { id, file, edits }: Mutant): string {
  let text = original
  for (const { from, to } of edits) {
    const times = text.split(from).length - 1
    if (times !== 1)
      throw new Error(`${id} does not apply: dist/${file} has ${times} × ${JSON.stringify(from)}`)
    text = text.replace(from, () => to)
  }
  return text
}
