import { setTimeout as pause } from 'node:timers/promises'
import { monotonicMs } from '../support/ledger.ts'
import type { WorkerProcess } from '../support/worker-process.ts'
import { audit, percentile, recoveries, untilQuiet, verdictsOf } from './harness/audit.ts'
import { experiment } from './harness/experiment.ts'
import { Fleet } from './harness/fleet.ts'
import { pick } from './harness/random.ts'
import { createScene, endOf } from './harness/scene.ts'

const everyMs = 200

experiment(
  {
    name: 'kill-storm',
    title: 'workers that are killed at random, again and again, lose no job and commit no effect twice',
    method:
      'Four workers with leases of 3 s run a steady stream of jobs, half of them with an effect through `ctx.tx`. Every 200 ms, one of the four is chosen at random, whether it is ready or still starting, killed by SIGKILL and replaced at once. If the machine starts processes so slowly that too few ready workers were killed, the kills go on and spare the workers that are still starting.',
    short: { seconds: 3, killsAtWork: 5, jobsPerSecond: 40 },
    medium: { seconds: 60, killsAtWork: 50, jobsPerSecond: 40 },
    long: { seconds: 600, killsAtWork: 500, jobsPerSecond: 40 },
    timeoutMs: 480_000,
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
    const counts = { kills: 0, killsAtWork: 0 }
    const kill = (victim: WorkerProcess | undefined): void => {
      if (victim === undefined) return
      counts.kills++
      if (fleet.ready().includes(victim)) counts.killsAtWork++
      fleet.end(victim, 'SIGKILL')
      fleet.spawn()
    }
    const beganAt = monotonicMs()
    while (counts.kills * everyMs < size.seconds * 1_000) {
      // By the clock: kills that are late because the machine is busy are caught up.
      await pause(Math.max(0, beganAt + (counts.kills + 1) * everyMs - monotonicMs()))
      kill(pick(random, fleet.live))
    }
    while (counts.killsAtWork < size.killsAtWork) {
      await pause(everyMs)
      // Leave at least two workers, or no job is done at all.
      const ready = fleet.ready()
      if (ready.length > 2) kill(pick(random, ready))
    }
    await endOf(stream)
    await untilQuiet(db)
    fleet.close()
    const result = await audit(db, ledger)
    const waits = recoveries(ledger)
    const { acknowledged, starts, duplicateRunRate, burnedAttempts, dead } = result.facts
    return {
      counts: { jobs: acknowledged, ...counts, runs: starts, recovered: waits.length },
      verdicts: { ...verdictsOf(result), burnedAttempts, dead },
      measures: {
        duplicateRunRate,
        recoveryP50Ms: percentile(waits, 0.5),
        recoveryP99Ms: percentile(waits, 0.99),
      },
    }
  },
)
