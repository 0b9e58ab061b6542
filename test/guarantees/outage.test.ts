import { setTimeout as pause } from 'node:timers/promises'
import { startOwnServer } from '../support/own-server.ts'
import { experiment } from './harness/experiment.ts'
import { createScene } from './harness/scene.ts'

/** After the outage every worker has this long to renew its lease, even on a busy machine. */
const leaseMs = 8_000

experiment(
  {
    name: 'outage',
    title: 'an outage longer than the lease counts no crash and no attempt, and results are kept',
    method:
      'PostgreSQL is down for two leases while jobs run. A third of them end during the outage, a third obey their signal and are aborted, and a third ignore it and end afterwards. A worker that starts right after the outage looks for lost workers ten times a second.',
    short: { rounds: 1, jobs: 9 },
    medium: { rounds: 1, jobs: 30 },
    long: { rounds: 10, jobs: 60 },
  },
  async ({ size }) => {
    const server = await startOwnServer()
    const { db, ledger, stint, contract, worker } = await createScene(undefined, server.db)
    const counts = { outages: 0, jobs: 0, endedDuring: 0, aborted: 0, endedAfter: 0 }
    let keptNot = 0
    for (let round = 0; round < size.rounds; round++) {
      const queue = `round-${round}`
      const queues = { [queue]: { concurrency: size.jobs, prefetch: 0 } }
      const running = await worker(`worker ${round}`, { lease: leaseMs, sweepEvery: '100ms', queues })
      const groups = [{ word: 'during' }, { word: 'again', listens: true }, { word: 'after' }] as const
      const inputs = Array.from({ length: size.jobs }, (_, n) => ({
        act: 'hold',
        ...groups[n % groups.length],
      }))
      const { jobs } = await stint.enqueueMany(contract, inputs, { queue })
      await ledger.wroteMany({ type: 'start', worker: running.name }, jobs.length)
      await server.stop(round % 2 === 0 ? 'fast' : 'immediate')
      running.tell('during')
      await pause(2 * leaseMs)
      await server.start()
      const late = await worker(`late ${round}`, { lease: leaseMs, sweepEvery: '100ms', queues })
      running.tell('after')
      for (const one of [running, late]) one.tell('again')
      const ended = await ledger.wroteMany(
        ({ name, worker: by }) => name === 'succeeded' && (by === running.name || by === late.name),
        jobs.length,
      )
      const rows = await db.query<{ word: string; epoch: number }>(
        `select input ->> 'word' as word, epoch from stint.finished where queue = $1 and state = 'succeeded'`,
        [queue],
      )
      counts.outages++
      counts.jobs += ended.length
      for (const { word, epoch } of rows) {
        if (word === 'during') counts.endedDuring++
        else if (word === 'after') counts.endedAfter++
        else counts.aborted++
        // Only an aborted job runs again. The others keep the result of their first run.
        if (word !== 'again' && epoch !== 1) keptNot++
      }
      for (const one of [running, late]) one.signal('SIGKILL')
      await Promise.all([running.exited, late.exited])
    }
    const [row] = await db.query<{ unfinished: number; crashes: number; burned: number; blamed: number }>(
      `select (select count(*) from stint.job)::integer + (select count(*) from stint.dead)::integer as unfinished,
              coalesce(sum(crashes), 0)::integer as crashes,
              coalesce(sum(attempt - 1), 0)::integer as burned,
              (select count(*) from stint.attempt where outcome <> 'released')::integer as blamed
         from stint.finished`,
    )
    return {
      counts,
      verdicts: {
        unfinished: row?.unfinished ?? NaN,
        crashes: row?.crashes ?? NaN,
        burnedAttempts: row?.burned ?? NaN,
        blamedAttempts: row?.blamed ?? NaN,
        resultsLost: keptNot,
        workersLost: ledger.lines({ name: 'workerLost' }).length,
      },
    }
  },
)
