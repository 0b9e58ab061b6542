import { describe, expect, test } from 'vitest'
import { anyOf, defineJob, flow, typed } from '../../src/index.ts'
import type { FlowBuilder, FlowDefinition, FlowOptions, JobContract } from '../../src/index.ts'
import { workerScene } from '../support/workers.ts'
import { actingJob, ends, flowIs, startActing } from './acting.ts'

const scene = workerScene()

describe('an edge, with real workers', () => {
  const table: [
    end: 'dead' | 'cancelled' | undefined,
    onDead: FlowOptions['onDead'],
    after: Record<string, string>,
  ][] = [
    [undefined, 'hold', { succeeded: 'succeeded', ended: 'succeeded', dead: 'cancelled' }],
    ['dead', 'hold', { succeeded: 'left', ended: 'succeeded', dead: 'succeeded' }],
    ['dead', 'skip', { succeeded: 'cancelled', ended: 'succeeded', dead: 'succeeded' }],
    ['cancelled', 'hold', { succeeded: 'cancelled', ended: 'succeeded', dead: 'cancelled' }],
  ]

  test('fires, holds or is lost as the table of the guide says', async () => {
    const { stint } = scene
    const act = actingJob()
    await startActing(scene, act)
    const stored = await stint.flows.enqueueMany(
      table.map(([end, onDead]) =>
        flow('edges', { onDead })
          .job('first', act, { end })
          .job('succeeded', act, {}, { after: { first: 'succeeded' } })
          .job('ended', act, {}, { after: { first: 'ended' } })
          .job('dead', act, {}, { after: { first: 'dead' } }),
      ),
    )
    for (const [index, [end, onDead, after]] of table.entries()) {
      const isHeld = end === 'dead' && onDead === 'hold'
      const found = await flowIs(stint, stored[index]?.id ?? '', isHeld ? 'held' : 'ended')
      expect(ends(found), `${end ?? 'succeeded'} ${onDead ?? ''}`).toEqual({
        first: end ?? 'succeeded',
        ...after,
      })
    }
  })
})

test('a job gets what the jobs before it returned, whole, in part, as a list, and as endings', async () => {
  const { stint } = scene
  const act = actingJob()
  const got: unknown[] = []
  const seen = defineJob({ kind: 'seen', queue: act.queue })
  await startActing(scene, act, { more: [[seen, (input: unknown) => void got.push(input)]] })
  const part = defineJob({
    kind: 'act',
    queue: act.queue,
    input: typed<object>(),
    output: typed<{ a: { b: string[] }; no?: string }>(),
  })
  const { id } = await stint.flows.enqueue(
    flow('reading')
      .job('one', part, { give: { a: { b: ['x', 'y'] } } })
      .jobs('many', act, [{ give: 1 }, { give: null }, { give: [3] }])
      .jobs('mixed', act, [{ give: 'fine' }, { end: 'dead' }, { end: 'cancelled' }])
      .job(
        'seen',
        seen,
        ({ one, many, mixed }) => ({
          whole: one,
          second: one.a.b[1],
          none: one.no,
          list: [one.no],
          many,
          mixed,
          plain: '7',
        }),
        { after: { one: 'succeeded', many: 'succeeded', mixed: 'ended' } },
      ),
  )
  await flowIs(stint, id, 'held')
  expect(got).toEqual([
    {
      whole: { a: { b: ['x', 'y'] } },
      second: 'y',
      list: [null],
      many: [1, null, [3]],
      mixed: [
        { state: 'succeeded', result: 'fine' },
        { state: 'dead', error: { name: 'PermanentError', message: 'it died' } },
        { state: 'cancelled' },
      ],
      plain: '7',
    },
  ])
})

test('outputs that do not pass the schema of an input end the job, with the path', async () => {
  const { stint } = scene
  const act = actingJob()
  const strict = defineJob({
    kind: 'strict',
    queue: act.queue,
    input: {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) =>
          typeof (value as { at: { n: unknown } }).at.n === 'number'
            ? { value: value as { at: { n: number } } }
            : { issues: [{ message: 'is not a number', path: ['at', 'n'] }] },
      },
    },
  })
  const worker = await startActing(scene, act, { more: [[strict, () => undefined]] })
  const giving = defineJob({
    kind: 'act',
    queue: act.queue,
    input: typed<object>(),
    output: typed<{ n: number }>(),
  })
  const { id } = await stint.flows.enqueue(
    flow('strict')
      .job('a', giving, { give: { n: 'text' } })
      .job('b', strict, ({ a }) => ({ at: { n: a.n } }), { after: ['a'] }),
  )
  const [dead] = await worker.tells('dead')
  expect(dead).toMatchObject({ kind: 'strict', reason: 'discarded-contract' })
  expect(dead?.error?.message).toContain('input.at.n is not a number')
  await flowIs(stint, id, 'held')
})

test('a plain input is never read as a reference, also not after an update', async () => {
  const { stint } = scene
  const act = actingJob()
  const got: unknown[] = []
  const seen = defineJob({ kind: 'seen', queue: act.queue })
  const own = { text: { 'stint:from': ['a'] } }
  const { id } = await stint.flows.enqueue(
    flow('own')
      .job('a', act, { give: 1 })
      .job('plain', seen, own, { after: ['a'] })
      .job('updated', seen, ({ a }) => ({ a }), { after: ['a'] }),
  )
  const { jobs } = await stint.list({ kind: 'seen', queue: act.queue })
  const updated =
    jobs
      .map((job) => job.id)
      .sort()
      .at(-1) ?? ''
  await stint.update(seen, updated, own)
  await startActing(scene, act, { more: [[seen, (input: unknown) => void got.push(input)]] })
  await flowIs(stint, id, 'ended')
  expect(got).toEqual([own, own])
})

test('one of several is enough with anyOf(), and compensation runs when a job died', async () => {
  const { stint } = scene
  const act = actingJob()
  await startActing(scene, act)
  const { id } = await stint.flows.enqueue(
    flow('checkout', { onDead: 'skip' })
      .job('reserve', act, { give: 'hold 7' })
      .job('capture', act, { end: 'dead' }, { after: ['reserve'] })
      .job('ship', act, {}, { after: ['capture'] })
      .job('release', act, ({ reserve }) => ({ give: reserve }), {
        after: { reserve: 'succeeded', capture: 'dead' },
      })
      .job('told', act, {}, { after: anyOf({ ship: 'succeeded', release: 'succeeded' }) }),
  )
  expect(ends(await flowIs(stint, id, 'ended'))).toEqual({
    reserve: 'succeeded',
    capture: 'dead',
    ship: 'cancelled',
    release: 'succeeded',
    told: 'succeeded',
  })
})

test('three dead of many hold the flow or are skipped, and a replay makes the held flow end', async () => {
  const { stint } = scene
  const act = actingJob()
  const healed = { all: false }
  await startActing(scene, act, { healed })
  const inputs = Array.from({ length: 200 }, (_, n) => (n % 70 === 3 ? ({ end: 'dead' } as const) : {}))
  const many = (onDead: 'hold' | 'skip'): FlowDefinition =>
    flow('many', { onDead })
      .jobs('rows', act, inputs)
      .job('done', act, {}, { after: ['rows'] })
  const [hold, skip] = await stint.flows.enqueueMany([many('hold'), many('skip')])
  expect(ends(await flowIs(stint, skip?.id ?? '', 'ended'))).toEqual({
    rows: '197+3+0 of 200',
    done: 'cancelled',
  })
  const id = hold?.id ?? ''
  expect(ends(await flowIs(stint, id, 'held'))).toEqual({ rows: '197+3+0 of 200', done: 'left' })
  healed.all = true
  expect((await stint.flows.replay(id)).replayed).toHaveLength(3)
  expect(ends(await flowIs(stint, id, 'ended'))).toEqual({ rows: '200+0+0 of 200', done: 'succeeded' })
})

test('a cancelled flow ends, with its waiting jobs', async () => {
  const { stint } = scene
  const act = actingJob()
  const { id } = await stint.flows.enqueue(
    flow('cancelled')
      .jobs('a', act, [{}, {}])
      .job('b', act, {}, { after: ['a'] }),
  )
  await stint.flows.cancel(id, { reason: 'not needed' })
  // The leader ends the jobs, also those of queues that it does not serve.
  await startActing(scene, actingJob())
  const found = await flowIs(stint, id, 'cancelled')
  expect(ends(found)).toEqual({ a: '0+0+2 of 2', b: 'cancelled' })
  expect(found.cancelReason).toBe('not needed')
  await expect(stint.flows.cancel(id)).resolves.toMatchObject({ state: 'cancelled' })
})

test('a unique flow is stored once while it is open, and again after it has ended', async () => {
  const { stint } = scene
  const act = actingJob()
  const unique = flow('unique').job('a', act, {})
  const first = await stint.flows.enqueue(unique, { unique: 'order 7' })
  expect(first).toMatchObject({ name: 'unique', placement: 'stored' })
  expect(await stint.flows.enqueue(unique, { unique: 'order 7' })).toEqual({ ...first, placement: 'kept' })
  expect(
    await stint.flows.enqueueMany([unique, unique], { unique: (index) => `order ${index + 7}` }),
  ).toMatchObject([{ id: first.id, placement: 'kept' }, { placement: 'stored' }])
  await startActing(scene, act)
  await flowIs(stint, first.id, 'ended')
  expect(await stint.flows.enqueue(unique, { unique: 'order 7' })).toMatchObject({ placement: 'stored' })
})

test('all jobs of a flow have its id as their correlation id, unless the call gives another', async () => {
  const { stint } = scene
  const act = actingJob()
  const one = flow('correlated').jobs('a', act, [{}, {}])
  const { id } = await stint.flows.enqueue(one)
  await stint.flows.enqueue(one, { correlationId: 'order 9' })
  const { jobs } = await stint.list({ queue: act.queue })
  expect(jobs.map(({ correlationId }) => correlationId).sort()).toEqual([id, id, 'order 9', 'order 9'].sort())
})

describe('nothing is stored', () => {
  const rows = defineJob({
    kind: 'row',
    queue: 'nothing',
    input: {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value: unknown) =>
          typeof (value as { line: unknown }).line === 'string'
            ? { value: value as { line: string } }
            : { issues: [{ message: 'is not text', path: ['line'] }] },
      },
    },
  })
  const unstored = async (call: Promise<unknown>, error: object): Promise<void> => {
    await expect(call).rejects.toMatchObject(error)
    expect(await scene.db.query(`select from stint.job where queue = 'nothing'`)).toEqual([])
    expect(await scene.db.query(`select from stint.flow where name = 'nothing'`)).toEqual([])
  }

  test('of a flow of 10,000 with one bad input, which is named', async () => {
    const inputs = Array.from({ length: 10_000 }, (_, n) => ({ line: n === 9_998 ? (7 as never) : 'x' }))
    await unstored(scene.stint.flows.enqueue(flow('nothing').jobs('rows', rows, inputs)), {
      code: 'invalid-input',
      issues: [{ path: 'rows[9998].input.line', message: 'is not text' }],
    })
    await unstored(
      scene.stint.flows.enqueueMany([
        flow('nothing').job('a', rows, { line: 'x' }),
        flow('nothing').job('a', rows, { line: 1 as never }),
      ]),
      { issues: [{ path: 'flows[1].a.input.line' }] },
    )
  })

  test('of a flow with too many nodes, with none, or with a job that is unique', async () => {
    let long = flow('nothing') as unknown as FlowBuilder<Record<string, never>>
    for (let n = 0; n <= 1_000; n++) long = long.job(`n${n}`, rows, { line: 'x' })
    await unstored(scene.stint.flows.enqueue(long), {
      code: 'invalid-input',
      issues: [{ path: 'flows[0].nodes' }],
    })
    await unstored(scene.stint.flows.enqueue(flow('nothing')), { code: 'invalid-input' })
    await unstored(scene.stint.flows.enqueue(flow('nothing').jobs('rows', rows, [])), {
      code: 'invalid-input',
    })
    const unique = defineJob({ kind: 'u', queue: 'nothing', unique: {} })
    await unstored(scene.stint.flows.enqueue(flow('nothing').job('a', unique, 1)), { code: 'invalid-input' })
    await unstored(scene.stint.flows.enqueue({} as never), { code: 'invalid-option' })
    await unstored(scene.stint.flows.enqueue(flow('nothing').job('a', rows, { line: 'x' }), { unique: '' }), {
      code: 'invalid-option',
    })
  })

  test('where a contract derives a key, search words or a cost from an input with references', async () => {
    const text = defineJob({ kind: 'text', queue: 'nothing', output: typed<string>() })
    const derived: [string, JobContract][] = [
      ['key', defineJob({ kind: 'k', queue: 'nothing', key: () => 'k' })],
      ['search', defineJob({ kind: 's', queue: 'nothing', search: () => ({ a: 1 }) })],
      ['cost', defineJob({ kind: 'c', queue: 'nothing', rates: ['r'], cost: () => 2 })],
    ]
    for (const [name, contract] of derived)
      await unstored(
        scene.stint.flows.enqueue(
          flow('nothing')
            .job('a', text, 1)
            .job('b', contract, ({ a }) => ({ a }), { after: ['a'] }),
        ),
        { code: 'invalid-input', issues: [{ path: `b.options.${name}` }] },
      )
  })

  test('while a worker lives that does not know flows', async () => {
    await scene.db.query(
      `insert into stint.worker (id, lease_until, about) values (gen_random_uuid(), now() + interval '1 minute', '{"host":"old"}')`,
    )
    const one = flow('nothing').job('a', rows, { line: 'x' })
    try {
      await unstored(scene.stint.flows.enqueue(one), { code: 'workers-too-old' })
    } finally {
      await scene.db.query(`delete from stint.worker where about ->> 'host' = 'old'`)
    }
  })
})
