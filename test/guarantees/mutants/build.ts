import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { repository } from '../../support/worker-process.ts'
import type { Build } from '../harness/scene.ts'
import type { Mutant } from './mutants.ts'

/** What a process of the tests needs: the package as built, and the programs that import it by its name. */
const parts = ['package.json', 'dist', 'test/promises/programs', 'test/guarantees/programs']

/** A copy of the built package below this repository, where node_modules is found; gone after the test. */
export async function copyBuild(name: string): Promise<Build> {
  const root = join(repository, '.stint/mutants', `${name}-${process.pid}`)
  await rm(root, { recursive: true, force: true })
  await mkdir(root, { recursive: true })
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  for (const part of parts) await cp(join(repository, part), join(root, part), { recursive: true })
  return { root }
}

/** A copy with the mutant in it. One that no longer applies is an error: it would prove nothing. */
export async function mutate({ id, file, edits }: Mutant): Promise<Build> {
  const build = await copyBuild(id)
  const path = join(build.root, 'dist', file)
  let text = await readFile(path, 'utf8')
  for (const { from, to } of edits) {
    const times = text.split(from).length - 1
    if (times !== 1)
      throw new Error(`${id} does not apply: dist/${file} has ${times} × ${JSON.stringify(from)}`)
    text = text.replace(from, () => to)
  }
  await writeFile(path, text)
  return build
}
