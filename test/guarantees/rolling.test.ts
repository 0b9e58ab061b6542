import { audit, untilQuiet, verdictsOf } from './harness/audit.ts'
import { experiment } from './harness/experiment.ts'
import { Fleet } from './harness/fleet.ts'
import { createScene, endOf } from './harness/scene.ts'

experiment(
  {
    name: 'rolling-restart',
    title: 'workers replaced one by one under load fail nothing and burn no attempt',
    method:
      'Three workers under a steady stream of jobs; for each of them a new one is started, and then the old one is told to end by SIGTERM.',
    short: { rounds: 3, jobsPerSecond: 60 },
    long: { rounds: 10, jobsPerSecond: 60 },
  },
  async ({ size }) => {
    const { db, ledger, setup, producer } = await createScene()
    const fleet = new Fleet({
      ledger,
      setup: (name) => setup(name, { queues: { work: 5 }, lease: '15s' }, { isTerse: true }),
    })
    await Promise.all([1, 2, 3].map(() => fleet.start()))
    const inputs = [5, 25, 45, 65].map((ms, n) => ({ act: 'work', ms, tx: n % 2 === 0 }))
    const stream = await producer({ name: 'producer', perSecond: size.jobsPerSecond, inputs })
    let replaced = 0
    let badExits = 0
    for (let round = 0; round < size.rounds; round++) {
      for (const old of fleet.live) {
        await fleet.start()
        fleet.end(old, 'SIGTERM')
        const { code } = await old.exited
        if (code !== 0) badExits++
        replaced++
      }
    }
    await endOf(stream)
    await untilQuiet(db)
    fleet.close()
    const result = await audit(db, ledger)
    const { acknowledged, burnedAttempts, crashes, dead, starts } = result.facts
    return {
      counts: { jobs: acknowledged, replaced },
      verdicts: {
        ...verdictsOf(result),
        ...{ burnedAttempts, crashes, dead, badExits, secondRuns: starts - acknowledged },
        unexpectedExits: fleet.exits.length,
      },
    }
  },
)
