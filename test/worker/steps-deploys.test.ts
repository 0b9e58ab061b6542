import { describe, expect, test } from 'vitest'
import type { JobContract } from '../../src/index.ts'
import type { HandlerContext } from '../../src/worker.ts'
import { attemptsOf, newJob, startFor, stored, workerScene } from '../support/workers.ts'
import type { TestWorker } from '../support/workers.ts'

const scene = workerScene()

type Code = (ctx: HandlerContext) => Promise<unknown>

const steps = async (ctx: HandlerContext, ...names: string[]): Promise<string[]> => {
  const done: string[] = []
  for (const name of names) done.push(await ctx.step(name, () => name))
  return done
}

const wait = (ctx: HandlerContext): Promise<unknown> => ctx.waitForSignal('go')

/** The code that was deployed when the jobs began: two steps, a wait, a step. */
const first: Code = async (ctx) => {
  const before = await steps(ctx, 'a', 'b')
  await wait(ctx)
  return [...before, ...(await steps(ctx, 'c'))]
}

/** Stops the worker that runs, and starts one with other code. */
async function deploy(job: JobContract, code: Code, running?: TestWorker): Promise<TestWorker> {
  await running?.worker.stop()
  return startFor(scene, job, (_input, ctx) => code(ctx))
}

/** A job that waits since the first deployment, and what runs after the second. */
async function waitingAcross(code: Code): Promise<{ id: string; job: JobContract; worker: TestWorker }> {
  const job = newJob()
  const before = await deploy(job, first)
  const { id } = await scene.stint.enqueue(job)
  await before.hears('waiting', id)
  const worker = await deploy(job, code, before)
  await scene.stint.signal(id, 'go')
  return { id, job, worker }
}

describe('a job that waits across a deployment ends when the new code', () => {
  const fitting: Record<string, [code: Code, result: unknown]> = {
    'has a further step ahead': [
      async (ctx) => {
        const before = await steps(ctx, 'a', 'b')
        await wait(ctx)
        return [...before, ...(await steps(ctx, 'x', 'c'))]
      },
      ['a', 'b', 'x', 'c'],
    ],
    'has a step in front of recorded ones, for new jobs only': [
      async (ctx) => {
        const isNew = (await ctx.version('with x', 1, 2)) === 2
        const before = await steps(ctx, ...(isNew ? ['x'] : []), 'a', 'b')
        await wait(ctx)
        return [...before, ...(await steps(ctx, 'c'))]
      },
      ['a', 'b', 'c'],
    ],
    'makes recorded steps parallel': [
      async (ctx) => {
        const before = await Promise.all(['b', 'a'].map((name) => ctx.step(name, () => name)))
        await wait(ctx)
        return [...before, ...(await steps(ctx, 'c'))]
      },
      ['b', 'a', 'c'],
    ],
  }

  test.each(Object.keys(fitting))('%s', async (name) => {
    const [code, result] = fitting[name] ?? [first, undefined]
    const { id, worker } = await waitingAcross(code)
    await worker.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ result, attempt: 1 })
    expect(worker.told('parked')).toEqual([])
  })
})

describe('a job that waits across a deployment is parked, and ends after one that fits, when the new code', () => {
  const wrong: Record<string, [code: Code, reason: string]> = {
    'has a step in front of recorded ones': [
      async (ctx) => {
        await steps(ctx, 'x', 'a', 'b')
        await wait(ctx)
      },
      "it asks for 'x' where 'a' was recorded",
    ],
    'has renamed a recorded step': [
      async (ctx) => {
        await steps(ctx, 'a', 'bee')
        await wait(ctx)
      },
      "it asks for 'bee' where 'b' was recorded",
    ],
    'has removed a recorded step': [
      async (ctx) => {
        await steps(ctx, 'b')
        await wait(ctx)
        await steps(ctx, 'c')
      },
      "it asks for 'c' where 'a' was recorded",
    ],
    'has another sort of call under the name': [
      (ctx) => ctx.stepTx('a', () => Promise.resolve('a')),
      "its call 'a' is a tx, and was a step",
    ],
  }

  test.each(Object.keys(wrong))('%s', async (name) => {
    const [code, reason] = wrong[name] ?? [first, '']
    const { id, job, worker } = await waitingAcross(code)
    expect(await worker.hears('parked', id)).toMatchObject({ reason, tries: 1 })
    expect(await stored(scene, id)).toMatchObject({ state: 'waiting', attempt: 0 })
    const { predicates } = await scene.stint.why(id)
    expect(JSON.stringify(predicates)).toContain(reason.slice(0, 12))
    const attempts = await attemptsOf(scene, id)
    expect(attempts.at(-1)).toMatchObject({ outcome: 'waiting', reason: `step-changed: ${reason}` })
    // A minute later the worker tries again by itself; by then code that fits is deployed.
    const healed = await deploy(job, first, worker)
    await scene.db.query('update stint.job set run_at = stint.now() where id = $1', [id])
    await healed.hears('succeeded', id)
    expect(await stored(scene, id)).toMatchObject({ result: ['a', 'b', 'c'], attempt: 1 })
  })
})
