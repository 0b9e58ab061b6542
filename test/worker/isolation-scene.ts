import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { JobContract } from '../../src/index.ts'
import { Worker } from '../../src/worker.ts'
import type { IsolateMode, IsolateOptions, WorkerOptions } from '../../src/worker.ts'
import { optionsOfLane } from '../support/way.ts'
import { newName, startWorker, stored, TestWorker, workerScene } from '../support/workers.ts'
import type { Scene } from '../support/workers.ts'

/** The entry file of the children. */
export const entry = join(import.meta.dirname, 'programs/acting.mjs')

export interface Isolated {
  worker: TestWorker
  job: JobContract
  /** Enqueues a job whose handler does this act. */
  send: (act: string, more?: object, options?: object) => Promise<string>
}

/** Where a job ran. */
export interface Whereabouts {
  pid: number
  threadId: number
  child: string
  jobId: string
  current: string
}

export interface IsolationScene {
  readonly scene: Scene
  /** A worker whose `act` handler runs only in children, until the test is finished. */
  isolated: (isolate: IsolateMode | IsolateOptions, options?: WorkerOptions) => Promise<Isolated>
  /** A worker that all tests of a group share, because its children are warm. */
  shared: (isolate: IsolateMode) => { get: () => Isolated }
  /** The result of a job, once it has succeeded. */
  resultOf: (one: Isolated, id: string) => Promise<unknown>
  /** Runs a job to its end and returns where it ran. */
  whereabouts: (one: Isolated) => Promise<Whereabouts>
}

/** Created before the first test of a file, and removed after the last. */
export function isolationScene(): IsolationScene {
  const scene = workerScene()
  const acting = (job: JobContract, worker: TestWorker): Isolated => ({
    worker,
    job,
    send: async (act, more = {}, options = {}) => {
      const { id } = await scene.stint.enqueue(job, { act, ...more }, options)
      return id
    },
  })
  const resultOf = async ({ worker }: Isolated, id: string): Promise<unknown> => {
    await worker.hears('succeeded', id)
    return (await stored(scene, id)).result
  }
  return {
    scene,
    isolated: async (isolate, { children, ...options } = {}) => {
      const job = newAct()
      const all = { queues: { [job.queue]: 4 }, children: { entry, ...children }, ...options }
      return acting(
        job,
        await startWorker(scene, all, (worker) => worker.handle(job, inTheWorker, { isolate })),
      )
    },
    shared: (isolate) => {
      let one: Isolated | undefined
      beforeAll(async () => {
        const job = newAct()
        const options = { connection: scene.db.url, log: false, pollFloor: '200ms' } as const
        const all = { ...optionsOfLane(options), ...options }
        const worker = new Worker({ ...all, queues: { [job.queue]: 4 }, children: { entry } })
        one = acting(job, new TestWorker(worker.handle(job, inTheWorker, { isolate })))
        await worker.start()
      })
      afterAll(() => one?.worker.worker.stop({ drain: 0 }))
      return {
        get: () => {
          if (one === undefined) throw new Error('There is no worker yet')
          return one
        },
      }
    },
    resultOf,
    whereabouts: async (one) => (await resultOf(one, await one.send('return'))) as Whereabouts,
  }
}

function newAct(): JobContract {
  return defineJob({ kind: 'act', queue: newName('act'), timeout: '1m', retry: { backoff: () => 1 } })
}

function inTheWorker(): never {
  throw new Error('It ran in the worker')
}
