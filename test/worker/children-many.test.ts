/*
 * A fan-out and a fan-in of many children: the parent wakes up once, with all results, and the counts of the set equal its jobs.
 * The medium form has 10,000 children and 8 worker processes, of which one is killed every 250 ms.
 */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { form } from '../support/form.ts'
import { attemptsOf, newName, startWorker, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

async function expectWhole(id: string, children: number): Promise<void> {
  const sum = children * (children - 1)
  expect(await stored(scene, id)).toMatchObject({ state: 'succeeded', result: { children, sum } })
  const [counts] = await scene.db.query(
    `select flow.open_nodes, node.total, node.remaining, node.succeeded, node.dead, node.cancelled,
            (select count(*)::integer from stint.finished where finished.parent_id = $1) as finished,
            (select count(*)::integer from stint.job where job.parent_id = $1) as live,
            (select count(*)::integer from stint.flow_ending) as uncounted
       from stint.flow join stint.flow_node as node on node.flow_id = flow.id
      where flow.parent_id = $1`,
    [id],
  )
  expect(counts).toEqual({
    ...{ open_nodes: 0, total: children, remaining: 0, succeeded: children, dead: 0, cancelled: 0 },
    ...{ finished: children, live: 0, uncounted: 0 },
  })
}

test.runIf(form === 'short')(
  '300 children of two workers: the parent wakes up once, with all results',
  async () => {
    const queue = newName('family')
    const child = defineJob({
      kind: newName('child'),
      queue,
      input: typed<{ n: number }>(),
      output: typed<{ twice: number }>(),
    })
    const parent = defineJob({ kind: newName('parent'), queue })
    let calls = 0
    const workers = await Promise.all(
      [1, 2].map(() =>
        startWorker(scene, { queues: { [queue]: 10 } }, (worker) =>
          worker
            .handle(child, ({ n }) => Promise.resolve({ twice: 2 * n }))
            .handle(parent, async (_input, ctx) => {
              calls++
              const all = await ctx.all(
                child,
                Array.from({ length: 300 }, (_, n) => ({ n })),
              )
              return { children: all.length, sum: all.reduce((sum, { twice }) => sum + twice, 0) }
            }),
        ),
      ),
    )
    const { id } = await scene.stint.enqueue(parent)
    await Promise.race(workers.map((worker) => worker.hears('succeeded', id)))
    expect(calls).toBe(2)
    await expectWhole(id, 300)
  },
)

test.runIf(form !== 'short')(
  '10,000 children, 8 processes, one killed every 250 ms: the parent wakes up once, with all results',
  async () => {
    const queue = newName('family')
    const children = form === 'long' ? 100_000 : 10_000
    const running = new Set<ChildProcess>()
    const over = new AbortController()
    const start = async (): Promise<void> => {
      const file = join(import.meta.dirname, 'programs/family.mjs')
      const env = { ...process.env, STINT_PROGRAM: JSON.stringify({ connection: scene.db.url, queue }) }
      if (over.signal.aborted) return
      const one = fork(file, [], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], env })
      running.add(one)
      one.once('exit', () => running.delete(one))
      await Promise.race([once(one, 'message'), once(one, 'exit')])
    }
    onTestFinished(() => {
      over.abort()
      for (const one of running) one.kill('SIGKILL')
    })
    await Promise.all(Array.from({ length: 8 }, start))
    const parent = defineJob({ kind: 'family.parent', queue })
    const job = await scene.stint.enqueue(parent, { children })
    const killing = (async () => {
      while (!over.signal.aborted) {
        await pause(250)
        const [victim] = running
        victim?.kill('SIGKILL')
        if (victim !== undefined) await once(victim, 'exit')
        void start()
      }
    })()
    await job.result({ timeout: '8m' })
    over.abort()
    await killing
    const wakes = (await attemptsOf(scene, job.id)).filter(({ outcome }) => outcome === 'waiting')
    expect(wakes).toHaveLength(1)
    await expectWhole(job.id, children)
  },
  580_000,
)
