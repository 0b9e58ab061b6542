import { describe, expect, test } from 'vitest'
import { silent } from '../../src/worker/report/log.ts'
import { form } from '../support/form.ts'
import { newJob, startFor, startWorker, workerScene } from '../support/workers.ts'
import { cycle, hugeLengthIn, outputsOf } from './output-scene.ts'

const scene = workerScene()
const hugeLength = hugeLengthIn(form)
const outputs = outputsOf(scene)

test('a result that was changed adds a warning to the log of its job, and an unchanged result adds none', async () => {
  const job = newJob('flagged')
  const ways = ['a result', 'the result of ctx.tx', 'the result of ctx.complete']
  const worker = await startWorker(scene, { queues: { [job.queue]: 4 } }, (one) =>
    one.handle(job, (input, ctx) => {
      const { way, isFine } = input as { way: string; isFine: boolean }
      return outputs[way]?.(isFine ? { n: 1, at: new Date(0) } : { n: 1n, self: cycle, text: '\0' }, ctx)
    }),
  )
  for (const way of ways) {
    const fine = await scene.stint.enqueue(job, { way, isFine: true })
    const odd = await scene.stint.enqueue(job, { way, isFine: false })
    await worker.hears('succeeded', fine.id)
    await worker.hears('succeeded', odd.id)
    expect(await scene.stint.logs(fine.id)).toEqual([])
    const lines = await scene.stint.logs(odd.id)
    expect(lines).toMatchObject([{ level: 'warn' }])
    expect(lines[0]?.message).toBe(
      'The result is not stored as it was returned: a bigint became text; a cycle was cut; NUL or half a surrogate pair was replaced.',
    )
  }
})

describe('a changed value adds one warning for each attempt to the log of its job', () => {
  const long = 'x'.repeat(hugeLength)
  const odd = { n: 1n, self: cycle, text: '\0' }
  const replaced = 'NUL or half a surrogate pair was replaced'
  const changes = `a bigint became text; a cycle was cut; ${replaced}`
  test.each<[way: string, value: unknown, line: string]>([
    ['a note of progress', 'a\0b', `A note of progress is not stored as it was given: ${replaced}.`],
    ['a note of progress', long, 'A note of progress is not stored as it was given: cut to 1024 bytes.'],
    ['a note of progress', odd, `A note of progress is not stored as it was given: ${changes}.`],
    ['a line of log', '\ud800', `A line of this log is not stored as it was given: ${replaced}.`],
    [
      'a line of log',
      `\0${long}`,
      `A line of this log is not stored as it was given: ${replaced}; cut to 8192 bytes.`,
    ],
    ['data of a line', odd, `A line of this log is not stored as it was given: ${changes}.`],
    [
      'data of a line',
      long,
      'A line of this log is not stored as it was given: far more than 8192 bytes were cut.',
    ],
    ['the result of ctx.once', odd, `What ctx.once gave is not stored as it was returned: ${changes}.`],
  ])('%s (%#)', async (way, value, line) => {
    const job = newJob('flagged')
    const said: string[] = []
    const logger = { ...silent, warn: (_fields: object, message: string) => void said.push(message) }
    const worker = await startFor(
      scene,
      job,
      async (_input, ctx) => {
        await outputs[way]?.(value, ctx)
        await outputs[way]?.(value, ctx)
      },
      { log: logger },
    )
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    const told = (await scene.stint.logs(id)).filter(({ level }) => level === 'warn')
    expect(told.map(({ message }) => message)).toEqual([line])
    expect(said).toEqual([line])
  })

  test('an unchanged value adds no warning, nor does an Error in the data of a log line', async () => {
    const job = newJob('unflagged')
    const worker = await startFor(scene, job, async (_input, ctx) => {
      for (const value of ['text', 7, { at: new Date(0), list: [null, '😀'] }]) {
        ctx.log.info(value as string, value)
        await ctx.progress(1, value as string)
        await ctx.once(JSON.stringify(value), () => Promise.resolve(value))
      }
      ctx.log.error('failed', { error: new Error('as every day') })
    })
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
    expect((await scene.stint.logs(id)).map(({ level }) => level)).toEqual(['info', 'info', 'info', 'error'])
  })
})
