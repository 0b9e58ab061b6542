import { monotonicMs } from '../support/ledger.ts'
import { startOwnServer } from '../support/own-server.ts'
import { audit, endedRuns, percentile, runOf, untilQuiet, verdictsOf } from './harness/audit.ts'
import { experiment } from './harness/experiment.ts'
import { Fleet } from './harness/fleet.ts'
import { createScene, endOf } from './harness/scene.ts'

const faults = ['fast', 'immediate', 'backend'] as const

experiment(
  {
    name: 'restarts',
    title: 'a PostgreSQL that is stopped or crashes under load costs no job, no attempt and no worker',
    method:
      'Two workers and a producer have a PostgreSQL of their own. It is stopped fast, stopped immediately, and made to recover: one of its sessions is killed by SIGKILL, so it ends all the others. Each time it is back at once. The next fault waits until every job that was running has ended, because a block of `ctx.tx` that breaks three times in a row counts as a failure of its handler.',
    short: { times: 1, jobsPerSecond: 60 },
    medium: { times: 5, jobsPerSecond: 60 },
    long: { times: 50, jobsPerSecond: 60 },
  },
  async ({ size }) => {
    const server = await startOwnServer()
    const { db, ledger, setup, producer } = await createScene(undefined, server.db)
    const options = { lease: '10s', sweepEvery: '200ms', queues: { work: 5 } }
    const fleet = new Fleet({ ledger, setup: (name) => setup(name, options, { isTerse: true }) })
    await Promise.all([fleet.start(), fleet.start()])
    const inputs = [5, 25, 45, 65].map((ms, n) => ({ act: 'work', ms, tx: n % 2 === 0 }))
    const stream = await producer({ name: 'producer', perSecond: size.jobsPerSecond, inputs, timeout: '60s' })
    const waits: Record<(typeof faults)[number], number[]> = { fast: [], immediate: [], backend: [] }
    for (let time = 0; time < size.times; time++) {
      for (const fault of faults) {
        // Under load: some jobs have ended since the last fault.
        const before = ledger.lines({ type: 'end' }).length
        await ledger.wroteMany({ type: 'end' }, before + 20)
        const at = monotonicMs()
        if (fault === 'backend') await server.killBackend()
        else {
          await server.stop(fault)
          await server.start()
        }
        // After a killed session no call reports when the server has recovered, but the workers report trouble.
        const felt =
          fault === 'backend'
            ? ledger.wrote(({ name, at: when }) => name === 'trouble' && when > at)
            : undefined
        const backAt = (await felt)?.at ?? monotonicMs()
        // A job that the producer stored after the fault, once it had connected again.
        const stored = await ledger.wrote((line) => line.type === 'ack' && line.at > backAt)
        const first = await ledger.wrote((line) => line.type === 'start' && line.at >= stored.at)
        waits[fault].push((first.at - at) / 1_000)
        const ended = endedRuns(ledger)
        const underWay = ledger.lines(
          (line) => line.type === 'start' && line.at < backAt && !ended.has(runOf(line)),
        )
        for (const start of underWay)
          await ledger.wrote((line) => line.type === 'end' && runOf(line) === runOf(start))
      }
    }
    await endOf(stream)
    await untilQuiet(db)
    fleet.close()
    const result = await audit(db, ledger)
    const { acknowledged, burnedAttempts, crashes, dead, duplicateRunRate } = result.facts
    return {
      counts: { jobs: acknowledged, faults: size.times * faults.length },
      verdicts: { ...verdictsOf(result), workerExits: fleet.exits.length, burnedAttempts, crashes, dead },
      measures: {
        duplicateRunRate,
        ...Object.fromEntries(
          faults.map((fault) => [`${fault}FirstJobMedianSeconds`, percentile(waits[fault], 0.5)]),
        ),
        firstJobMaxSeconds: Math.max(...faults.flatMap((fault) => waits[fault])),
      },
    }
  },
)
