import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { finish } from './support/processes.ts'

const root = join(import.meta.dirname, '..')

const programs = {
  producer: `import { defineJob, Stint } from 'stint'
    const stint = new Stint()
    stint.enqueue(defineJob({ kind: 'bundled' }), {}).then(
      async ({ kind }) => { console.log('stored', kind); await stint.close() },
      (error) => console.log(error.message))`,
  worker: `import { defineJob } from 'stint'
    import { Worker } from 'stint/worker'
    const worker = new Worker()
    worker.handle(defineJob({ kind: 'bundled' }), () => undefined)
    worker.start().catch((error) => console.log(error.code, error.message))`,
}

let db: TestDatabase
let folder: string
beforeAll(async () => {
  db = await createTestDatabase()
  // Outside this package, so that a bundle cannot find files of the package.
  folder = await mkdtemp(join(tmpdir(), 'stint-bundle-'))
})
afterAll(async () => {
  await db.drop()
  await rm(folder, { recursive: true })
})

test.each([
  ['producer', 'cjs', 'stored bundled'],
  ['producer', 'esm', 'stored bundled'],
  ['worker', 'cjs', 'not-external .*Mark stint as external'],
  ['worker', 'esm', 'not-external .*Mark stint as external'],
] as const)('12: a %s that is bundled as %s works, or says what to do', async (program, format, says) => {
  const outfile = join(folder, `${program}.${format === 'cjs' ? 'cjs' : 'mjs'}`)
  await build({
    stdin: { contents: programs[program], resolveDir: root },
    bundle: true,
    platform: 'node',
    format,
    outfile,
    logLevel: 'error',
  })
  const env = { ...process.env, DATABASE_URL: db.url }
  const { stdout, stderr } = await finish(process.execPath, [outfile], { cwd: folder, env })
  expect({ stdout, stderr }).toEqual({ stdout: expect.stringMatching(says) as string, stderr: '' })
})
