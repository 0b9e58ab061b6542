import { experiment } from './harness/experiment.ts'
import { createScene } from './harness/scene.ts'

/** A busy machine may pause a whole process for some seconds. */
const leaseMs = 8_000

experiment(
  {
    name: 'blocked-loop',
    title:
      'a handler that blocks the event loop for three leases runs once, and no other worker starts its job',
    method:
      'Handlers block their event loop for three leases, within the timeout of their job, while another worker looks for lost workers ten times a second.',
    short: { rounds: 1, processes: 1 },
    medium: { rounds: 1, processes: 4 },
    long: { rounds: 10, processes: 4 },
  },
  async ({ size }) => {
    const { db, ledger, stint, contract, worker } = await createScene()
    const names = Array.from({ length: size.processes }, (_, n) => `blocked-${n}`)
    await Promise.all(
      names.map((name) => worker(name, { lease: leaseMs, sweepEvery: '100ms', queues: { [name]: 1 } })),
    )
    for (let round = 0; round < size.rounds; round++) {
      const jobs = await Promise.all(
        names.map((name) => stint.enqueue(contract, { act: 'block', ms: 3 * leaseMs }, { queue: name })),
      )
      for (const { id } of jobs) await ledger.wrote({ type: 'start', job: id })
      // A job that the watcher took away would be started again by the worker of its queue. That must not happen.
      if (round === 0)
        await worker('watcher', { lease: '30s', sweepEvery: '100ms', queues: { elsewhere: 1 } })
      for (const { id } of jobs) await ledger.wrote(({ name, job }) => name === 'succeeded' && job === id)
    }
    const jobs = size.rounds * size.processes
    const [row] = await db.query<{ once: number }>(
      `select count(*)::integer as once from stint.finished
        where state = 'succeeded' and attempt = 1 and epoch = 1 and crashes = 0`,
    )
    return {
      counts: { jobs, leasesBlocked: 3 * jobs },
      verdicts: {
        secondStarts: ledger.lines({ type: 'start' }).length - jobs,
        notOnce: jobs - (row?.once ?? 0),
      },
    }
  },
)
