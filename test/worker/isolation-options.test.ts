import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { Worker } from '../../src/worker.ts'
import type { BatchOptions, HandleOptions, WorkerOptions } from '../../src/worker.ts'
import { inheritedFlags } from '../../src/worker/isolate/flags.ts'
import { resolveWorkerOptions } from '../../src/worker/options.ts'
import { newJob, workerScene } from '../support/workers.ts'

const scene = workerScene()
const job = defineJob({ kind: 'image.resize' })
const acting = join(import.meta.dirname, 'programs/acting.mjs')

describe('options of isolation', () => {
  test('the options of isolation have defaults', () => {
    expect(resolveWorkerOptions().children).toEqual({
      entry: undefined,
      max: 10,
      memoryMb: 512,
      maxJobs: 1_000,
    })
    expect(resolveWorkerOptions({ queues: { media: 3 } }).children.max).toBe(3)
  })

  test.each([acting, pathToFileURL(acting), pathToFileURL(acting).href, `${pathToFileURL(acting).href}?1`])(
    'children.entry accepts %s',
    (entry) => {
      expect(resolveWorkerOptions({ children: { entry } }).children.entry).toBe(acting)
    },
  )

  test.each<[options: unknown, path: string]>([
    [{ children: 4 }, 'children'],
    [{ children: { entry: 7 } }, 'children.entry'],
    [{ children: { max: 0 } }, 'children.max'],
    [{ children: { memoryMb: 1 } }, 'children.memoryMb'],
    [{ children: { maxJobs: 1.5 } }, 'children.maxJobs'],
    [{ children: { entri: 'x' } }, 'children.entri'],
  ])('invalid isolation options of a worker are refused: %j', (options, path) => {
    expect(() => new Worker(options as WorkerOptions)).toThrow(
      expect.objectContaining({
        code: 'invalid-option',
        issues: [expect.objectContaining({ path }) as unknown],
      }) as Error,
    )
  })

  test.each<[isolate: unknown, path: string]>([
    ['fork', 'isolate'],
    [true, 'isolate'],
    [{}, 'isolate.in'],
    [{ in: 'process', memoryMb: '1g' }, 'isolate.memoryMb'],
    [{ in: 'thread', maxJobs: 0 }, 'isolate.maxJobs'],
    [{ in: 'thread', memory: 64 }, 'isolate.memory'],
  ])('invalid isolation options of a handler are refused: %j', (isolate, path) => {
    const options = { isolate } as HandleOptions
    expect(() => new Worker().handle(job, () => undefined, options)).toThrow(
      expect.objectContaining({
        code: 'invalid-option',
        issues: [expect.objectContaining({ path }) as unknown],
      }) as Error,
    )
  })

  test('isolation is refused for batches, and the error says why', () => {
    const options = { isolate: 'process' } as BatchOptions
    expect(() => new Worker().handleBatch(job, () => Promise.resolve(), options)).toThrow(
      /`isolate` is not for batches: a child runs one job at a time/,
    )
  })

  test('isolation without an entry is refused by start() before it connects', async () => {
    const worker = new Worker({ connection: 'postgres://nobody@127.0.0.1:1/nowhere', log: false })
    worker.handle(job, () => undefined, { isolate: 'process' })
    await expect(worker.start()).rejects.toMatchObject({
      code: 'invalid-option',
      issues: [{ path: 'children.entry' }],
      message: expect.stringContaining('children.entry') as string,
    })
  })

  test.each([
    ['is not there', '/no/such/file.mjs', /no\/such\/file/],
    ['has no handler for the kind', acting, /with a handler for 'job'/],
  ])('start() refuses an entry file that %s', async (_what, entry, message) => {
    const contract = newJob()
    const worker = new Worker({ connection: scene.db.url, log: false, children: { entry } })
    worker.handle(contract, () => undefined, { isolate: 'thread' })
    await expect(worker.start()).rejects.toMatchObject({
      code: 'isolation-failed',
      message: expect.stringMatching(message) as string,
    })
  })
})

test('Node flags that are meant for one process only are not passed to children', () => {
  expect(
    inheritedFlags([
      ...['--import', 'tsx', '--inspect=9229', '--max-old-space-size=4096', '-C', 'development'],
      ...['--cpu-prof', '--watch-path', './src', '-e', 'main()', '--enable-source-maps'],
    ]),
  ).toEqual(['--import', 'tsx', '-C', 'development', '--enable-source-maps'])
})
