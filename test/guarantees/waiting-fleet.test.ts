import { untilQuiet } from './harness/audit.ts'
import { experiment } from './harness/experiment.ts'
import { Fleet } from './harness/fleet.ts'
import { createScene } from './harness/scene.ts'
import { eventually } from '../support/eventually.ts'
import { endLease } from '../support/worker-process.ts'

experiment(
  {
    name: 'waiting-fleet',
    title:
      'jobs that wait survive the end of all workers: no crash is counted, and each goes on when its signal comes',
    method:
      'Two workers suspend jobs that wait for a signal. Half of the signals are sent while no worker runs: all are killed by SIGKILL when the last job waits, and two others are started afterwards. Then the other half is sent.',
    short: { jobs: 300 },
    medium: { jobs: 5_000 },
    long: { jobs: 20_000 },
  },
  async ({ size }) => {
    const { db, ledger, stint, contract, setup } = await createScene()
    const options = { lease: '3s', sweepEvery: '200ms', queues: { work: 50 } } as const
    const fleet = new Fleet({ ledger, setup: (name) => setup(name, options, { isTerse: true }) })
    const first = await Promise.all([fleet.start(), fleet.start()])
    const ids: string[] = []
    while (ids.length < size.jobs) {
      const inputs = Array.from({ length: Math.min(1_000, size.jobs - ids.length) }, () => ({ act: 'waits' }))
      ids.push(...(await stint.enqueueMany(contract, inputs)).jobs.map(({ id }) => id))
    }
    const waiting = `select count(*)::integer as jobs from stint.job where state = 'waiting'`
    await eventually(async () => {
      const [row] = await db.query<{ jobs: number }>(waiting)
      if (row?.jobs !== size.jobs) throw new Error(`${row?.jobs} of ${size.jobs} jobs wait`)
    })
    for (const worker of first) fleet.end(worker, 'SIGKILL')
    await Promise.all(first.map((worker) => endLease(db, worker)))
    const send = async (some: readonly string[]): Promise<void> => {
      for (let from = 0; from < some.length; from += 20)
        await Promise.all(
          some.slice(from, from + 20).map((id, place) => stint.signal(id, 'go', { n: from + place })),
        )
    }
    const half = Math.floor(size.jobs / 2)
    await send(ids.slice(0, half))
    await Promise.all([fleet.start(), fleet.start()])
    await send(ids.slice(half))
    await untilQuiet(db)
    fleet.close()
    const [found] = await db.query<{ ended: number; crashes: number; burned: number; payloads: number }>(
      `select count(*) filter (where state = 'succeeded')::integer as ended,
              count(*) filter (where result ? 'n')::integer as payloads,
              coalesce(sum(crashes), 0)::integer + (select count(*)::integer from stint.attempt where outcome = 'lease-lost') as crashes,
              coalesce(sum(attempt - 1), 0)::integer as burned
         from stint.finished`,
    )
    const { ended = 0, payloads = 0, crashes = NaN, burned = NaN } = found ?? {}
    return {
      counts: {
        jobs: size.jobs,
        workersKilled: first.length,
        starts: ledger.lines({ type: 'start' }).length,
      },
      verdicts: {
        notEnded: size.jobs - ended,
        signalsLost: size.jobs - payloads,
        crashes,
        burnedAttempts: burned,
      },
    }
  },
)
