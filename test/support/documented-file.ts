import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { repository } from './worker-process.ts'

/** The first code block of a guide as a file, in which `stint` is this package; removed with the test. */
export async function documentedFile(guide: string): Promise<string> {
  const page = await readFile(join(repository, 'docs/guides', guide), 'utf8')
  const [, code = ''] = /```ts\n([^]*?)```/.exec(page) ?? []
  const folder = join(repository, '.stint', guide.replace('.md', ''), String(process.pid))
  await mkdir(folder, { recursive: true })
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'program.ts')
  await writeFile(file, code)
  return file
}
