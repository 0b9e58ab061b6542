import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { isOutOf } from '../support/lane.ts'
import { createLedger, monotonicMs } from '../support/ledger.ts'
import { startWorker } from '../support/worker-process.ts'

let db: TestDatabase
let quiet: Stint
let loud: Stint
beforeAll(async () => {
  db = await createTestDatabase()
  quiet = new Stint({ connection: db.url, notify: false })
  loud = new Stint({ connection: db.url })
})
afterAll(async () => {
  await quiet.close()
  await loud.close()
  await db.drop()
})

/** Polling alone would find the job much later than this, even on a busy machine. */
const promptMs = 20_000
const pollFloor = '60s'

describe('with notify off on both sides', () => {
  test('with notify off on both sides, polling finds ready, delayed, retried and child jobs', async () => {
    const ledger = await createLedger()
    const job = { kind: 'work', queue: 'polled', retry: { backoff: ['100ms'] } }
    await startWorker(ledger, {
      name: 'worker',
      jobs: [job],
      options: { connection: db.url, notify: false, queues: { polled: 10 } },
    })
    expect(
      await db.query(
        `select 1 from pg_stat_activity where application_name = 'stint listen' and datname = current_database()`,
      ),
    ).toEqual([])
    const contract = defineJob(job)
    const ids = [
      await quiet.enqueue(contract, {}),
      await quiet.enqueue(contract, {}, { priority: 50 }),
      await quiet.enqueue(contract, {}, { key: 'tenant' }),
      await quiet.enqueue(contract, {}, { delay: '300ms' }),
      await quiet.enqueue(contract, {}, { delay: '300ms', key: 'tenant' }),
      await quiet.enqueue(contract, { act: 'fail', failure: 'unknown', times: 1 }),
      await quiet.enqueue(contract, { act: 'parent' }),
    ].map(({ id }) => id)
    for (const id of ids) await ledger.wrote({ name: 'succeeded', job: id })
    // Also after the worker was idle for a while: only its own poll wakes it.
    const late = await quiet.enqueue(contract, {}, { priority: -50 })
    await ledger.wrote({ name: 'succeeded', job: late.id })
  })
})

const isWithoutNotify = isOutOf('no-notify', 'these tests are about NOTIFY')
describe.skipIf(isWithoutNotify)('with notify on, a worker that would poll once a minute', () => {
  test('with notify on, a worker promptly starts each job that another process stores', async () => {
    const ledger = await createLedger()
    const job = { kind: 'work', queue: 'told' }
    await startWorker(ledger, {
      name: 'worker',
      jobs: [job],
      options: { connection: db.url, pollFloor, queues: { told: 10 } },
    })
    const options = [{}, { priority: 9 }, { key: 'tenant' }, { delay: '50ms' }]
    for (let round = 0; round < 12; round++) {
      const storedAt = monotonicMs()
      const { id } = await loud.enqueue(defineJob(job), {}, options[round % options.length])
      const { at } = await ledger.wrote({ type: 'start', job: id })
      expect(at - storedAt, `round ${round}`).toBeLessThan(promptMs)
    }
  })

  const isPooled = isOutOf('pgbouncer', 'the held answer may be the error that the statement name is taken')
  test.skipIf(isPooled)(
    'with notify on, a worker starts a job before its producer gets the answer to the enqueue',
    async () => {
      const ledger = await createLedger()
      const job = { kind: 'work', queue: 'unheard' }
      await startWorker(ledger, {
        name: 'worker',
        jobs: [job],
        options: { connection: db.url, pollFloor, queues: { unheard: 10 } },
      })
      const proxy = await startFaultProxy(db.url)
      const far = new Stint({ connection: proxy.url, timeout: '60s' })
      onTestFinished(() => far.close())
      const answered = proxy.holdAnswers('/* jobs/enqueue-one.sql */')
      // Otherwise the notification could come from the repeat, which is sent because no answer came.
      const next = Promise.race([
        proxy.saw('/* jobs/wake-up/notify.sql */', 1).then(() => 'told'),
        proxy.saw('/* jobs/enqueue-deciding.sql */', 1).then(() => 'sent again'),
      ])
      const enqueueing = far.enqueue(defineJob(job), {})
      const letPass = await answered
      expect(await next).toBe('told')
      const { job: started } = await ledger.wrote({ type: 'start', queue: 'unheard' })
      letPass()
      expect((await enqueueing).id).toBe(started)
    },
  )

  test('with notify on, a worker starts a job that is stored after its first look and before it listens', async () => {
    const ledger = await createLedger()
    const job = { kind: 'work', queue: 'starting' }
    const contract = defineJob(job)
    for (let round = 0; round < 3; round++) {
      const starting = startWorker(ledger, {
        name: `worker ${round}`,
        jobs: [job],
        options: { connection: db.url, pollFloor, queues: { starting: 100 } },
      })
      const ids: string[] = []
      const storing = { isOver: false }
      const stored = (async () => {
        while (!storing.isOver) ids.push((await loud.enqueue(contract, {})).id)
      })()
      const worker = await starting
      await ledger.wrote({ type: 'start', worker: worker.name })
      storing.isOver = true
      await stored
      const storedAt = monotonicMs()
      for (const one of ids) {
        const { at } = await ledger.wrote({ type: 'start', job: one })
        expect(at - storedAt, `round ${round}`).toBeLessThan(promptMs)
      }
      worker.signal('SIGTERM')
      await worker.exited
    }
  })

  test('with notify on, a worker starts all jobs that are stored at the same moment, ready or due soon', async () => {
    const ledger = await createLedger()
    const job = { kind: 'work', queue: 'moment' }
    await startWorker(ledger, {
      name: 'worker',
      jobs: [job],
      options: { connection: db.url, pollFloor, queues: { moment: 10 } },
    })
    for (let round = 0; round < 5; round++) {
      const storedAt = monotonicMs()
      const delays = ['200ms', '30s', '0ms', '100ms', '50s']
      const jobs = await Promise.all(delays.map((delay) => loud.enqueue(defineJob(job), {}, { delay })))
      const soon = jobs.filter((_, index) => delays[index]?.endsWith('ms'))
      for (const { id } of soon) {
        const { at } = await ledger.wrote({ type: 'start', job: id })
        expect(at - storedAt, `round ${round}`).toBeLessThan(promptMs)
      }
    }
  })

  test('with notify on, a worker starts a job when the transaction of its producer commits', async () => {
    const ledger = await createLedger()
    const job = { kind: 'work', queue: 'committed' }
    await startWorker(ledger, {
      name: 'worker',
      jobs: [job],
      options: { connection: db.url, pollFloor, queues: { committed: 10 } },
    })
    const { default: pg } = await import('pg')
    const client = new pg.Client(db.url)
    await client.connect()
    await client.query('begin')
    const { id } = await loud.enqueue(defineJob(job), {}, { tx: client })
    await client.query('commit')
    const storedAt = monotonicMs()
    const { at } = await ledger.wrote({ type: 'start', job: id })
    expect(at - storedAt).toBeLessThan(promptMs)
    await client.end()
  })

  test('with notify on, a worker starts the children of a job that it has run itself', async () => {
    const ledger = await createLedger()
    const jobs = [{ kind: 'work', queue: 'parents' }, { kind: 'child' }]
    await startWorker(ledger, {
      name: 'worker',
      jobs,
      options: { connection: db.url, pollFloor, queues: { parents: 5, children: 5 } },
    })
    const parent = await loud.enqueue(defineJob({ kind: 'work', queue: 'parents' }), { act: 'parent' })
    const { at } = await ledger.wrote({ type: 'end', job: parent.id })
    await ledger.wrote({ name: 'succeeded', job: parent.id })
    // The child of this parent: another test has left one in the queue of all children.
    const [child] = await db.query<{ id: string }>('select id from stint.jobs where parent_id = $1', [
      parent.id,
    ])
    const start = await ledger.wrote({ type: 'start', job: child?.id as string })
    expect(start.at - at).toBeLessThan(promptMs)
    await ledger.wrote({ name: 'succeeded', job: child?.id as string })
  })

  test('with notify on, a worker starts delayed and retried jobs when they are due, in that order, and not before', async () => {
    const ledger = await createLedger()
    const job = { kind: 'work', queue: 'due', retry: { backoff: ['400ms'] } }
    await startWorker(ledger, {
      name: 'worker',
      jobs: [job],
      options: { connection: db.url, pollFloor, queues: { due: 1 } },
    })
    const contract = defineJob(job)
    // Stored at one moment, from which all delays count.
    const delays = [600, 300, 1_200, 900, 1_500]
    const { jobs: delayed } = await loud.enqueueMany(
      contract,
      delays.map((_, n) => ({ n })),
      { each: (_input, n) => ({ delay: delays[n] }) },
    )
    const retried = await loud.enqueue(contract, { act: 'fail', failure: 'unknown', times: 1 })
    await ledger.wrote({ name: 'succeeded', job: retried.id })
    const order = await ledger.wroteMany(({ type, n }) => type === 'start' && n !== undefined, delayed.length)
    expect(order.map(({ n }) => n)).toEqual([1, 0, 3, 2, 4])
    await ledger.wroteMany({ name: 'succeeded' }, delayed.length + 1)
    const rows = await db.query(
      `select started_at >= run_at as "isDue", started_at < run_at + interval '20 seconds' as "isPrompt"
         from stint.finished where queue = 'due'`,
    )
    expect(rows).toEqual(Array.from({ length: delayed.length + 1 }, () => ({ isDue: true, isPrompt: true })))
  })
})
