import { setTimeout as pause } from 'node:timers/promises'
import { monotonicMs } from '../support/ledger.ts'
import { audit, percentile, recoveries, untilQuiet, verdictsOf } from './harness/audit.ts'
import { experiment } from './harness/experiment.ts'
import { Fleet } from './harness/fleet.ts'
import { pick } from './harness/random.ts'
import { createScene, endOf } from './harness/scene.ts'

experiment(
  {
    name: 'kill-storm',
    title: 'workers killed at random, again and again, lose nothing and commit no effect twice',
    method:
      'Four workers with leases of 3 s under a steady stream of jobs, half of them with an effect through `ctx.tx`; every 200 ms, as long as more than two claim, one of those is killed by SIGKILL and replaced at once.',
    short: { kills: 100, seconds: 45, jobsPerSecond: 40 },
    long: { kills: 2_000, seconds: 600, jobsPerSecond: 40 },
  },
  async ({ size, random }) => {
    const { db, ledger, setup, producer } = await createScene()
    const options = { lease: '3s', sweepEvery: '200ms', queues: { work: 5 } }
    const fleet = new Fleet({
      ledger,
      setup: (name) => setup(name, options, { isTerse: true }),
      isRestarted: true,
    })
    await Promise.all([1, 2, 3, 4].map(() => fleet.start()))
    const inputs = [20, 60, 100, 140].map((ms, n) => ({ act: 'work', ms, tx: n % 2 === 0 }))
    const stream = await producer({ name: 'producer', perSecond: size.jobsPerSecond, inputs })
    let kills = 0
    const endAt = monotonicMs() + size.seconds * 1_000
    while (kills < size.kills && monotonicMs() < endAt) {
      await pause(200)
      // Somebody has to be left to take over, or nothing is done at all on a machine where a start takes long.
      const ready = fleet.ready()
      const victim = ready.length > 2 ? pick(random, ready) : undefined
      if (victim === undefined) continue
      fleet.end(victim, 'SIGKILL')
      fleet.spawn()
      kills++
    }
    await endOf(stream)
    await untilQuiet(db)
    fleet.close()
    const result = await audit(db, ledger)
    const waits = recoveries(ledger)
    const { acknowledged, starts, duplicateRunRate, burnedAttempts, dead } = result.facts
    return {
      counts: { jobs: acknowledged, kills, runs: starts, recovered: waits.length },
      verdicts: { ...verdictsOf(result), burnedAttempts, dead },
      measures: {
        duplicateRunRate,
        recoveryP50Ms: percentile(waits, 0.5),
        recoveryP99Ms: percentile(waits, 0.99),
      },
    }
  },
)
