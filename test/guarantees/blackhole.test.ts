import { startFaultProxy } from '../support/fault-proxy.ts'
import { experiment } from './harness/experiment.ts'
import { createScene } from './harness/scene.ts'

/** Long enough that a busy machine does not use up the fifth of the lease between abort and takeover. */
const leaseMs = 15_000
const jobsEach = 5

experiment(
  {
    name: 'blackhole',
    title: 'a worker whose network drops everything aborts its jobs before another worker starts them',
    method:
      'Workers reach the database through a proxy that stops forwarding in both directions and closes no connection. Another worker, with a direct connection, takes the jobs over. All processes share the clock of the machine.',
    short: { rounds: 1, processes: 1 },
    medium: { rounds: 1, processes: 3 },
    long: { rounds: 15, processes: 3 },
  },
  async ({ size }) => {
    const { db, ledger, stint, contract, worker } = await createScene()
    const overlaps: number[] = []
    let notAborted = 0
    for (let round = 0; round < size.rounds; round++) {
      const proxy = await startFaultProxy(db.url)
      const queue = `round-${round}`
      const names = Array.from({ length: size.processes }, (_, n) => `cut off ${round}.${n}`)
      const options = { connection: proxy.url, lease: leaseMs, sweepEvery: '1h' }
      const queues = { [queue]: { concurrency: jobsEach, prefetch: 0 } }
      const cutOff = await Promise.all(names.map((name) => worker(name, { ...options, queues })))
      const inputs = Array.from({ length: jobsEach * size.processes }, () => ({ act: 'hold', listens: true }))
      const { jobs } = await stint.enqueueMany(contract, inputs, { queue })
      const ids = new Set(jobs.map(({ id }) => id))
      await ledger.wroteMany((line) => line.type === 'start' && ids.has(line.job ?? ''), jobs.length)
      const heir = await worker(`heir ${round}`, {
        lease: '30s',
        sweepEvery: '50ms',
        queues: { [queue]: 2 * jobs.length },
      })
      const heal = proxy.blackhole()
      const second = await ledger.wroteMany({ type: 'start', worker: heir.name }, jobs.length)
      // Every cut-off handler must have been aborted and ended before the other worker started its job.
      for (const start of second) {
        const end = ledger
          .lines({ type: 'end', job: start.job ?? '' })
          .find(({ worker: name }) => names.includes(name))
        if (end === undefined) notAborted++
        else overlaps.push(end.at - start.at)
      }
      heir.tell('go')
      await ledger.wroteMany({ name: 'succeeded', worker: heir.name }, jobs.length)
      void heal()
      // Each cut-off worker learns that it was lost, and goes on under another id.
      for (const { name } of cutOff) await ledger.wroteMany({ name: 'ready', worker: name }, 2)
      for (const one of [...cutOff, heir]) one.signal('SIGKILL')
    }
    const [row] = await db.query<{ wrong: number }>(
      `select count(*)::integer as wrong from stint.finished
        where state <> 'succeeded' or result ->> 'by' not like 'heir%' or attempt <> 1`,
    )
    return {
      counts: { partitions: size.rounds * size.processes, jobs: overlaps.length },
      verdicts: {
        notAborted,
        overlapping: overlaps.filter((ms) => ms > 0).length,
        wrongResults: row?.wrong ?? NaN,
      },
      // The smallest time between an abort and the start in the other worker.
      measures: { maxOverlapMs: Math.max(0, ...overlaps), leastDistanceMs: -Math.max(...overlaps) },
    }
  },
)
