// Runs the programs that open guides, as they stand there.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from './support/database.ts'
import { finish } from './support/processes.ts'
import { repository } from './support/worker-process.ts'

/** What the first program of a guide prints. */
async function outputOf(guide: string): Promise<string[]> {
  const page = await readFile(join(repository, `docs/guides/${guide}.md`), 'utf8')
  const [, code = ''] = /```ts\n([^]*?)```/.exec(page) ?? []
  const folder = join(repository, '.stint/guides', `${guide}-${process.pid}`)
  await mkdir(folder, { recursive: true })
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'main.ts'), code)
  const db = await createTestDatabase()
  onTestFinished(() => db.drop())
  const env = { ...process.env, DATABASE_URL: db.url }
  const program = ['--import', 'tsx', join(folder, 'main.ts')]
  const { code: exit, stdout } = await finish(process.execPath, program, { cwd: repository, env })
  expect(exit).toBe(0)
  // Lines of the worker's own log are JSON.
  return stdout.split('\n').filter((line) => line !== '' && !line.startsWith('{"'))
}

test('the program of the guide to steps loads, asks and mails once, although its handler runs twice', async () => {
  expect(await outputOf('steps')).toEqual([
    'loading may',
    'asking the model true',
    'mailed: 2 orders',
    "{ text: '2 orders' }",
  ])
})

test('the program of the guide to waiting publishes after its signal', async () => {
  expect(await outputOf('waiting')).toEqual([
    'please approve: Hello',
    'published, approved by ana',
    "{ state: 'published' }",
  ])
})
