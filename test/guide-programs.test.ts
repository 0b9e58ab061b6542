// Runs the first programs of guides as they stand there.
import { expect, test } from 'vitest'
import { documentedFile } from './support/documented-file.ts'
import { finish } from './support/processes.ts'
import { repository } from './support/worker-process.ts'
import { workerScene } from './support/workers.ts'

const scene = workerScene()

/** The lines that the first program of a guide prints. */
async function linesOf(guide: string): Promise<string[]> {
  const { code, stdout, stderr } = await finish(
    process.execPath,
    ['--import', 'tsx', await documentedFile(guide)],
    {
      cwd: repository,
      env: { ...process.env, DATABASE_URL: scene.db.url, STINT_LOG_LEVEL: 'silent' },
    },
  )
  expect(stderr).toBe('')
  expect(code).toBe(0)
  return stdout.trim().split('\n')
}

test('the program about results prints the result, the progress and the end of its jobs', async () => {
  const lines = await linesOf('results-and-following.md')
  expect(lines[0]).toBe('320 pixels wide')
  expect(lines).toContain('state running')
  expect(lines).toContain('progress 50')
  expect(lines.at(-1)).toBe('state succeeded')
})

test('the program about webhooks sends one, verifies it and prints the status', async () => {
  expect(await linesOf('webhooks.md')).toEqual(['genuine {"order":7}', '{ status: 204 }'])
})

test('the program about steps loads, asks and mails once, although its handler runs twice', async () => {
  expect(await linesOf('steps.md')).toEqual([
    'loading may',
    'asking the model true',
    'mailed: 2 orders',
    "{ text: '2 orders' }",
  ])
})

test('the program about approvals sends after the first answer, and refuses the second', async () => {
  expect(await linesOf('approvals.md')).toEqual([
    'Send “May” to 1200 people?',
    '200 yes',
    '409 too late',
    "{ state: 'sent' }",
  ])
})

test('the program about flows captures what its jobs before returned', async () => {
  expect(await linesOf('flows.md')).toEqual(['captured 2400 for the hold of order 7', 'the flow has ended'])
})

test('the program about waiting publishes after its signal', async () => {
  expect(await linesOf('waiting.md')).toEqual([
    'please approve: Hello',
    'published, approved by ana',
    "{ state: 'published' }",
  ])
})

test('the program about children publishes three images', async () => {
  expect(await linesOf('children.md')).toEqual([
    'cat: 3 images',
    "{ files: [ '320.png', '640.png', '1280.png' ] }",
  ])
})
