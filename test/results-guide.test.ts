// Runs the code of docs/guides/results-and-following.md as it stands there.
import { expect, test } from 'vitest'
import { documentedFile } from './support/documented-file.ts'
import { finish } from './support/processes.ts'
import { repository } from './support/worker-process.ts'
import { workerScene } from './support/workers.ts'

const scene = workerScene()

test('the program of the guide prints the result, the progress and the end of its jobs', async () => {
  const file = await documentedFile('results-and-following.md')
  const { code, stdout, stderr } = await finish(process.execPath, ['--import', 'tsx', file], {
    cwd: repository,
    env: { ...process.env, DATABASE_URL: scene.db.url, STINT_LOG_LEVEL: 'silent' },
  })
  expect(stderr).toBe('')
  expect(code).toBe(0)
  const lines = stdout.trim().split('\n')
  expect(lines[0]).toBe('320 pixels wide')
  expect(lines).toContain('state running')
  expect(lines).toContain('progress 50')
  expect(lines.at(-1)).toBe('state succeeded')
})
