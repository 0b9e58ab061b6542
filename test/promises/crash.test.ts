import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { createLedger, monotonicMs } from '../support/ledger.ts'
import { endLease, notedBegun, spawnWorker, startWorker } from '../support/worker-process.ts'

let db: TestDatabase
let stint: Stint
beforeAll(async () => {
  db = await createTestDatabase()
  stint = new Stint({ connection: db.url })
})
afterAll(async () => {
  await stint.close()
  await db.drop()
})

const leaseMs = 6_000
const sweepMs = 200

/**
 * Leases are long enough for a busy machine, so that only killed workers are lost. Where the test does not measure the
 * time until then, `endLease` ends the lease of the victim at once.
 */
function survivor(queue: string) {
  return { connection: db.url, queues: { [queue]: 10 }, lease: '15s', sweepEvery: sweepMs }
}
function victim(queue: string, lease: string | number = '20s') {
  return { connection: db.url, queues: { [queue]: 10 }, lease, sweepEvery: '1h' } as const
}

function isAmong(id: string, quarantined: unknown): boolean {
  return (quarantined as { id: string }[]).some((one) => one.id === id)
}

test('jobs of a killed worker run again in another worker within a lease and a sweep, and no attempt is burned', async () => {
  const ledger = await createLedger()
  const job = { kind: 'work', queue: 'killed' }
  const killed = await startWorker(ledger, {
    name: 'killed',
    jobs: [job],
    options: victim('killed', leaseMs),
  })
  const inputs = Array.from({ length: 5 }, () => ({ act: 'hold' }))
  const { jobs } = await stint.enqueueMany(defineJob(job), inputs)
  const first = await ledger.wroteMany({ type: 'start', worker: 'killed' }, 5)
  const survivors = await startWorker(ledger, { name: 'alive', jobs: [job], options: survivor('killed') })
  survivors.tell('go')
  await notedBegun(
    db,
    jobs.map(({ id }) => id),
  )
  const killedAt = monotonicMs()
  killed.signal('SIGKILL')

  const second = await ledger.wroteMany({ type: 'start', worker: 'alive' }, 5)
  const slack = 20_000
  for (const { at } of second) expect(at - killedAt).toBeLessThan(leaseMs + sweepMs + slack)
  await ledger.wroteMany({ name: 'succeeded' }, 5)

  expect(new Set(second.map(({ token }) => token))).not.toContain(first[0]?.token)
  const rows = await db.query(
    `select id, state, attempt, crashes, epoch, result ->> 'by' as by from stint.finished where queue = 'killed' order by id`,
  )
  const expected = { state: 'succeeded', attempt: 1, crashes: 1, epoch: 2, by: 'alive' }
  expect(rows).toEqual(jobs.map(({ id }) => ({ id, ...expected })))
  const attempts = await db.query(
    'select epoch, attempt, outcome, worker_id from stint.attempt where job_id = any($1)',
    [jobs.map(({ id }) => id)],
  )
  const lost = { epoch: 1, attempt: 1, outcome: 'lease-lost', worker_id: first[0]?.workerId }
  expect(attempts).toEqual(jobs.map(() => lost))
})

test('a job whose worker was killed three times is quarantined, with each crash on record', async () => {
  const ledger = await createLedger()
  const job = { kind: 'poison', queue: 'poison' }
  const { id } = await stint.enqueue(defineJob(job), { act: 'hold' })
  await startWorker(ledger, {
    name: 'sweeper',
    jobs: [{ kind: 'other' }],
    options: survivor('other'),
  })
  for (let epoch = 1; epoch <= 3; epoch++) {
    const name = `victim ${epoch}`
    const worker = await startWorker(ledger, { name, jobs: [job], options: victim('poison') })
    await ledger.wrote({ type: 'start', job: id, epoch, worker: name })
    await notedBegun(db, [id])
    worker.signal('SIGKILL')
    await endLease(db, worker)
  }
  await ledger.wrote(({ name, said }) => name === 'swept' && isAmong(id, said?.['quarantined']))

  const [dead] = await db.query(
    'select reason, crashes, attempt, epoch, input, error from stint.dead where id = $1',
    [id],
  )
  expect(dead).toMatchObject({
    reason: 'quarantined',
    crashes: 3,
    attempt: 1,
    epoch: 3,
    input: { act: 'hold' },
    error: {
      class: 'crash',
      message: expect.stringMatching(
        /^Its worker ended while it ran, 3 times in all. The last time: its lease ran out/,
      ) as string,
    },
  })
  expect(await db.query('select 1 from stint.job where id = $1', [id])).toEqual([])
  const attempts = await db.query(
    'select epoch, attempt, outcome from stint.attempt where job_id = $1 order by epoch',
    [id],
  )
  expect(attempts).toEqual([1, 2, 3].map((epoch) => ({ epoch, attempt: 1, outcome: 'lease-lost' })))
})

test('a job whose contract makes a crash fatal never begins a second time', async () => {
  const ledger = await createLedger()
  const job = { kind: 'once', queue: 'once' }
  const contract = defineJob({ ...job, retry: { classes: { crash: 'dead' } } })
  const { id } = await stint.enqueue(contract, { act: 'die', how: 'SIGKILL' })
  const worker = spawnWorker(ledger, { name: 'victim', jobs: [job], options: victim('once') })
  expect(await worker.exited).toMatchObject({ signal: 'SIGKILL' })
  await endLease(db, worker)
  // This worker would run the job if it were ready.
  await startWorker(ledger, { name: 'alive', jobs: [job], options: survivor('once') })
  await ledger.wrote(({ name, said }) => name === 'swept' && isAmong(id, said?.['quarantined']))
  const [dead] = await db.query('select reason, crashes, attempt, epoch from stint.dead where id = $1', [id])
  expect(dead).toEqual({ reason: 'quarantined', crashes: 1, attempt: 1, epoch: 1 })
  expect(ledger.lines({ type: 'start', job: id })).toHaveLength(1)
})

test.each([
  { attempts: 2, crashes: 1, becomes: 'dead' },
  { attempts: 4, crashes: 2, becomes: 'ready' },
  { attempts: 4, crashes: 3, becomes: 'dead' },
  { attempts: undefined, crashes: 2, becomes: 'dead' },
])(
  'a job with $attempts crashes allowed and $crashes counted is $becomes after the next crash',
  async ({ attempts, crashes, becomes }) => {
    const ledger = await createLedger()
    const classes = attempts === undefined ? {} : { crash: { attempts } }
    const { id } = await stint.enqueue(defineJob({ kind: 'planted', queue: 'planted', retry: { classes } }))
    // The state that an unknown worker leaves after its handler had begun.
    await db.query(
      `update stint.job set state = 'running', attempt = 1, epoch = 1, worker_id = $2, lease_id = $2, begun_lease = $2,
              crashes = $3, started_at = now()
        where id = $1`,
      [id, randomUUID(), crashes],
    )
    await startWorker(ledger, { name: 'sweeper', jobs: [{ kind: 'other' }], options: survivor('other') })
    await ledger.wrote({ name: 'swept' })
    const [row] = await db.query('select state, crashes from stint.jobs where id = $1', [id])
    expect(row).toEqual({ state: becomes, crashes: crashes + 1 })
  },
)

test('a job that runs under an unknown worker is taken back', async () => {
  const ledger = await createLedger()
  const job = { kind: 'orphan', queue: 'orphan' }
  const { id } = await stint.enqueue(defineJob(job), {})
  // The state after a claim that commits when its worker was declared lost and its row removed.
  await db.query(
    `update stint.job set state = 'running', attempt = 1, epoch = 1, worker_id = $2, lease_id = $2, started_at = now()
      where id = $1`,
    [id, randomUUID()],
  )
  await startWorker(ledger, { name: 'alive', jobs: [job], options: survivor('orphan') })
  await ledger.wrote({ name: 'succeeded', job: id })
  const [row] = await db.query('select attempt, crashes, epoch from stint.finished where id = $1', [id])
  // No crash is counted, because no record says that its handler had begun.
  expect(row).toEqual({ attempt: 1, crashes: 0, epoch: 2 })
})

test('jobs that only waited in killed workers are never blamed for the crashes', async () => {
  const ledger = await createLedger()
  const job = { kind: 'bystander', queue: 'bystanders' }
  await startWorker(ledger, { name: 'sweeper', jobs: [{ kind: 'other' }], options: survivor('other') })
  const inputs = Array.from({ length: 30 }, () => ({ act: 'hold' }))
  const { jobs } = await stint.enqueueMany(defineJob(job), inputs)
  const ids = jobs.map(({ id }) => id)
  // Held by lost workers that had not begun to run them.
  for (let epoch = 1; epoch <= 4; epoch++) {
    await db.query(
      `update stint.job set state = 'running', attempt = attempt + 1, epoch = epoch + 1, worker_id = $2, lease_id = $2,
              started_at = now()
        where id = any($1)`,
      [ids, randomUUID()],
    )
    await ledger.wroteMany(({ name, said }) => name === 'swept' && said?.['returned'] === 30, epoch)
  }
  const rows = await db.query(
    `select state, attempt, crashes, suspect, count(*)::integer as jobs from stint.job where id = any($1) group by 1, 2, 3, 4`,
    [ids],
  )
  expect(rows).toEqual([{ state: 'ready', attempt: 0, crashes: 0, suspect: true, jobs: 30 }])
  const worker = await startWorker(ledger, { name: 'alive', jobs: [job], options: survivor('bystanders') })
  worker.tell('go')
  await ledger.wroteMany({ name: 'succeeded', worker: 'alive' }, 30)
})

test('a job that kills its process at once is quarantined at the third crash, and its neighbours succeed', async () => {
  const ledger = await createLedger()
  const job = { kind: 'deadly', queue: 'deadly' }
  const good = Array.from({ length: 40 }, (_, n) => ({ act: 'sleep', ms: 20, n }))
  const contract = defineJob(job)
  const before = await stint.enqueueMany(contract, good)
  const poison = await stint.enqueue(contract, { act: 'die', how: 'SIGSEGV' })
  const after = await stint.enqueueMany(contract, good)
  await startWorker(ledger, { name: 'sweeper', jobs: [{ kind: 'other' }], options: survivor('other') })
  let deaths = 0
  const supervised = async (): Promise<void> => {
    for (let boot = 1; ; boot++) {
      const worker = spawnWorker(ledger, { name: `boot ${boot}`, jobs: [job], options: victim('deadly') })
      const { signal } = await worker.exited
      if (signal !== 'SIGSEGV') return
      deaths++
      await endLease(db, worker)
    }
  }
  void supervised()
  await ledger.wrote(({ name, said }) => name === 'swept' && isAmong(poison.id, said?.['quarantined']))
  const ids = [...before.jobs, ...after.jobs].map(({ id }) => id)
  await eventually(async () => {
    const rows = await db.query(`select from stint.finished where id = any($1) and state = 'succeeded'`, [
      ids,
    ])
    expect(rows).toHaveLength(ids.length)
  })
  expect(deaths).toBe(3)
  const [dead] = await db.query('select reason, crashes, error from stint.dead where id = $1', [poison.id])
  expect(dead).toMatchObject({ reason: 'quarantined', crashes: 3 })
})
