import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Stint } from '../../src/index.ts'
import { Database } from '../../src/db/database.ts'
import { Leader } from '../../src/worker/upkeep/leader.ts'
import type { Service } from '../../src/worker/upkeep/service.ts'
import { upkeepStatus } from '../../src/stats/read/fleet/upkeep.ts'
import type { ServiceStatus } from '../../src/stats/read/fleet/upkeep.ts'
import { Upkeep } from '../../src/worker/upkeep/upkeep.ts'
import { lookAt } from '../doctor/scene.ts'
import { movableClock } from '../support/clock.ts'
import type { TestClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { createLedger } from '../support/ledger.ts'
import { startWorker as startProcess } from '../support/worker-process.ts'
import { newJob, startFor, workerScene } from '../support/workers.ts'

const hungOnce = `hanging: Error: 'hanging' has come to no answer for 300ms`

describe('the lead', () => {
  let db: TestDatabase
  let database: Database
  let clock: TestClock
  beforeAll(async () => {
    db = await createTestDatabase()
    clock = await movableClock(db)
    database = new Database({
      url: db.url,
      schema: 'stint',
      poolSize: 4,
      deadlineMs: 10_000,
      applicationName: 'leader test',
    })
  })
  afterAll(async () => {
    await database.close()
    await db.drop()
  })

  function candidate(name: string, termMs = 30_000): Leader {
    const id = randomUUID()
    return new Leader({ name, termMs, holder: () => id, about: {} })
  }

  function term(name: string): Promise<unknown[]> {
    return db.query('select term::integer, holder is null as free from stint.leader where name = $1', [name])
  }

  test('only one of many processes that ask at once gets the lead', async () => {
    const candidates = Array.from({ length: 20 }, () => candidate('crowd'))
    const answers = await Promise.all(candidates.map((one) => one.ask(database)))
    expect(answers.filter(Boolean)).toHaveLength(1)
    expect(candidates.map((one) => one.isLeading)).toEqual(answers)
    expect(await term('crowd')).toEqual([{ term: 1, free: false }])
  })

  test('the leader keeps the lead by asking again, and another process gets it when the term is over by the database clock', async () => {
    const [first, second] = [candidate('term'), candidate('term')]
    expect(await first.ask(database)).toBe(true)
    await clock.advance('20 seconds')
    expect(await first.ask(database)).toBe(true)
    await clock.advance('20 seconds')
    expect(await second.ask(database)).toBe(false)
    await clock.advance('11 seconds')
    expect(await second.ask(database)).toBe(true)
    expect(await term('term')).toEqual([{ term: 2, free: false }])
    // The first process learns of it.
    expect(await first.ask(database)).toBe(false)
    expect(first.isLeading).toBe(false)
  })

  test('a leader trusts its lead for no longer than most of a term after it asked', async () => {
    const leader = candidate('trust', 100)
    expect(await leader.ask(database)).toBe(true)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(leader.isLeading).toBe(false)
  })

  test('a leader that resigns frees the lead at once, and only the holder can resign', async () => {
    const [first, second, third] = [candidate('resign'), candidate('resign'), candidate('resign')]
    await first.ask(database)
    await first.resign(database)
    expect(first.isLeading).toBe(false)
    expect(await second.ask(database)).toBe(true)
    await first.resign(database)
    expect(await third.ask(database)).toBe(false)
  })

  describe('services of the leader', () => {
    function upkeepWith(
      services: readonly Service[],
      { told = [], hungAfterMs }: { told?: string[]; hungAfterMs?: number } = {},
    ): Upkeep {
      const upkeep = new Upkeep({
        db: new Database({
          url: db.url,
          schema: 'stint',
          poolSize: 2,
          deadlineMs: 10_000,
          applicationName: 'upkeep test',
        }),
        termMs: 30_000,
        holder: () => randomUUID(),
        about: { host: 'here', pid: 1 },
        services,
        hungAfterMs,
        onTrouble: (what, error) => told.push(`${what}: ${String(error)}`),
      })
      onTestFinished(() => upkeep.stop())
      return upkeep
    }

    function counting(name: string, everyMs = 3_600_000): Service & { passes: number } {
      const service = {
        name,
        everyMs,
        passes: 0,
        runOnce: () => {
          service.passes++
          return Promise.resolve()
        },
      }
      return service
    }

    test('services run independently: one that throws stops no other, and is tried again', async () => {
      const told: string[] = []
      let failures = 0
      const bad: Service = {
        name: 'bad',
        everyMs: 3_600_000,
        runOnce: () => {
          if (++failures < 3) throw new Error('out of luck')
          return Promise.resolve()
        },
      }
      const [before, after] = [counting('before'), counting('after')]
      const upkeep = upkeepWith([before, bad, after], { told })
      expect(await upkeep.runOnce()).toBe(true)
      expect([before.passes > 0, after.passes > 0]).toEqual([true, true])
      expect(told).toContain('bad: Error: out of luck')
      const state = (): Promise<unknown[]> =>
        db.query(
          `select name, last_ok_at is not null as ok, last_error, took_ms is not null as took
             from stint.service where name in ('before', 'bad') order by name`,
        )
      expect(await state()).toEqual([
        { name: 'bad', ok: false, last_error: 'out of luck', took: false },
        { name: 'before', ok: true, last_error: null, took: true },
      ])
      // It is tried again after a second or more each time, though it is due in an hour.
      await eventually(async () => {
        expect(await state()).toContainEqual({ name: 'bad', ok: true, last_error: null, took: true })
      })
    })

    test('a service that hangs is given up by name and started again, and the other services go on', async () => {
      const told: string[] = []
      const begun: { at: number; others: number }[] = []
      const release: (() => void)[] = []
      const other = counting('goes-on', 20)
      // Two passes never end; the third one does.
      const hanging: Service = {
        name: 'hanging',
        everyMs: 3_600_000,
        runOnce: () => {
          begun.push({ at: performance.now(), others: other.passes })
          return begun.length > 2 ? Promise.resolve() : new Promise((resolve) => release.push(resolve))
        },
      }
      await db.query(
        `insert into stint.service (name, last_ok_at) values ('hanging', stint.now() - interval '2 hours')`,
      )
      const state = async (): Promise<ServiceStatus | undefined> =>
        (await upkeepStatus(database)).services.find(({ name }) => name === 'hanging')
      const before = await state()
      const upkeep = upkeepWith([hanging, other], { told, hungAfterMs: 300 })
      await eventually(async () => {
        expect(await upkeep.lead()).toBe(true)
      })
      await expect.poll(() => told, { timeout: 10_000 }).toContain(hungOnce)
      const hung = await lookAt(db.url, 'upkeep')
      expect(hung).toMatchObject({
        level: 'warn',
        title: 'Upkeep services are late or failing: hanging',
        detail: expect.stringContaining(`hanging: 'hanging' has come to no answer for 300ms`) as string,
      })
      // The time of its last success is still known.
      expect(await state()).toMatchObject({
        lastOkAt: before?.lastOkAt,
        lastError: expect.stringContaining('come to no answer') as string,
        lastErrorAt: expect.any(Date) as Date,
      })
      await eventually(async () => {
        expect(await state()).toMatchObject({ lastError: null })
      })
      expect((await state())?.lastOkAt?.getTime()).toBeGreaterThan(before?.lastOkAt?.getTime() ?? Infinity)
      expect(told.filter((what) => what === hungOnce)).toHaveLength(2)
      // After the limit and a second or more, though it is due in an hour.
      const [first, second, third] = begun
      if (first === undefined || second === undefined || third === undefined)
        throw new Error('Not begun anew')
      expect(second.at - first.at).toBeGreaterThan(1_299)
      expect(third.at - second.at).toBeGreaterThan(1_299)
      expect([second.others - first.others > 1, third.others - second.others > 1]).toEqual([true, true])
      for (const end of release) end()
    })

    test('a service that always hangs is started at most three times until one of its passes ends', async () => {
      const told: string[] = []
      const release: (() => void)[] = []
      const hanging: Service = {
        name: 'always-hanging',
        everyMs: 50,
        runOnce: () => new Promise((resolve) => release.push(resolve)),
      }
      const upkeep = upkeepWith([hanging], { told, hungAfterMs: 50 })
      await eventually(async () => {
        expect(await upkeep.lead()).toBe(true)
      })
      const refused = `always-hanging: Error: 3 passes of 'always-hanging' have come to no answer: until one ends, no other is begun`
      const refusals = (): number => told.filter((what) => what === refused).length
      await expect.poll(refusals, { timeout: 10_000 }).toBeGreaterThan(1)
      expect(release).toHaveLength(3)
      release[0]?.()
      await expect.poll(() => release.length, { timeout: 10_000 }).toBe(4)
      for (const end of release) end()
    })

    test('a service that does not end when its process stops does not block the lead', async () => {
      let end: (() => void) | undefined
      const hanging: Service = {
        name: 'hangs-at-stop',
        everyMs: 3_600_000,
        runOnce: () => new Promise((resolve) => (end = resolve)),
      }
      const upkeep = upkeepWith([hanging])
      await eventually(async () => {
        expect(await upkeep.lead()).toBe(true)
      })
      await expect.poll(() => end).toBeDefined()
      await upkeep.stop()
      expect(await term('upkeep')).toMatchObject([{ free: true }])
      end?.()
    })

    test('services pause while another process leads, and run when it resigns', async () => {
      const [one, two] = [counting('shared'), counting('shared')]
      const [first, second] = [upkeepWith([one]), upkeepWith([two])]
      // The upkeep of the previous test may not have resigned yet.
      await eventually(async () => {
        expect(await first.runOnce()).toBe(true)
      })
      expect(await second.runOnce()).toBe(false)
      expect(two.passes).toBe(0)
      await first.stop()
      expect(await second.runOnce()).toBe(true)
      expect(two.passes).toBe(1)
    })

    test('services do not all run again when the lead changes, because the database stores when each is due', async () => {
      const [done, due] = [counting('done'), counting('due')]
      await db.query(
        `insert into stint.service (name, last_ok_at)
         values ('done', stint.now()), ('due', stint.now() - interval '2 hours')`,
      )
      const upkeep = upkeepWith([done, due])
      // A new leader starts the services that are due; the others run at their time.
      await eventually(async () => {
        expect(await upkeep.lead()).toBe(true)
      })
      await eventually(() => {
        expect(due.passes).toBe(1)
        return Promise.resolve()
      })
      expect(done.passes).toBe(0)
    })
  })
})

describe('workers', () => {
  const scene = workerScene()

  async function leaderOf(stint: Stint): Promise<{ workerId: string; pid: number | null } | null> {
    return (await stint.status()).upkeep.leader
  }

  test('one worker leads; another takes over after the term if it is killed, and at once if it stops', async () => {
    const ledger = await createLedger()
    const job = { kind: 'work', queue: 'lead' }
    const options = { connection: scene.db.url, queues: { lead: 1 }, lease: '3s' }
    const processes = [
      await startProcess(ledger, { name: 'one', jobs: [job], options }),
      await startProcess(ledger, { name: 'two', jobs: [job], options }),
    ]
    const leading = async (not?: number): Promise<number> => {
      let pid = 0
      await eventually(async () => {
        const leader = await leaderOf(scene.stint)
        expect(leader).not.toBeNull()
        pid = leader?.pid ?? 0
        expect(pid).not.toBe(not ?? 0)
      })
      return pid
    }
    const first = await leading()
    const killed = processes.find(({ pid }) => pid === first)
    const other = processes.find(({ pid }) => pid !== first)
    killed?.signal('SIGKILL')
    await killed?.exited
    expect(await leading(first)).toBe(other?.pid)
    const third = await startProcess(ledger, {
      name: 'three',
      jobs: [job],
      options: { ...options, lease: '60s' },
    })
    other?.signal('SIGTERM')
    await other?.exited
    // The lead is free at once, unless the third worker just asked: it asks when it starts and every twenty seconds.
    expect([undefined, third.pid]).toContain((await leaderOf(scene.stint))?.pid)
    const { services } = (await scene.stint.status()).upkeep
    expect(services.find(({ name }) => name === 'partitions')).toMatchObject({
      lastOkAt: expect.any(Date) as Date,
      lastError: null,
    })
    third.signal('SIGTERM')
    await third.exited
  })

  test('a worker with `upkeep: false` never leads', async () => {
    const job = newJob('optout')
    const out = await startFor(scene, job, () => undefined, { lease: '1s', upkeep: false })
    const { id } = await scene.stint.enqueue(job)
    await out.hears('succeeded', id)
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect(await leaderOf(scene.stint)).toBeNull()
    const willing = await startFor(scene, job, () => undefined, { lease: '1s' })
    await eventually(async () => {
      expect((await leaderOf(scene.stint))?.workerId).toBe(willing.worker.id)
    })
  })

  test('a worker whose upkeep is refused by the database goes on with its jobs', async () => {
    await scene.db.query('alter table stint.service rename to service_away')
    onTestFinished(async () => {
      await scene.db.query('alter table stint.service_away rename to service')
    })
    const job = newJob('refused')
    const worker = await startFor(scene, job, () => undefined, { lease: '1s' })
    await worker.tells('trouble', ({ what }) => what === 'upkeep: lead')
    const { id } = await scene.stint.enqueue(job)
    await worker.hears('succeeded', id)
  })
})
