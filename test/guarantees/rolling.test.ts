import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { start } from '../support/processes.ts'
import { repository } from '../support/worker-process.ts'
import { audit, untilQuiet, verdictsOf } from './harness/audit.ts'
import { experiment } from './harness/experiment.ts'
import { createScene, endOf } from './harness/scene.ts'

const processes = 3

experiment(
  {
    name: 'rolling-restart',
    title: 'workers that are replaced one by one under load fail no job and burn no attempt',
    method:
      'Three workers under `stint work --processes 3` run a steady stream of jobs. SIGHUP replaces each of them, again and again; each new worker starts before the old one stops. At the end SIGTERM stops all of them.',
    short: { rounds: 2, jobsPerSecond: 60 },
    medium: { rounds: 10, jobsPerSecond: 60 },
    long: { rounds: 100, jobsPerSecond: 60 },
    timeoutMs: 300_000,
  },
  async ({ size }) => {
    const { db, ledger, setup, producer } = await createScene()
    const program = setup('supervised', { queues: { work: 5 }, lease: '15s' }, { isTerse: true })
    const { child, finished } = start(
      process.execPath,
      [
        ...[join(repository, 'dist/cli/main.js'), 'work'],
        ...[join(repository, 'test/promises/programs/worker.mjs'), '--processes', String(processes)],
      ],
      {
        env: {
          ...process.env,
          STINT_PROGRAM: JSON.stringify({ ...program, ledger: ledger.file, isLeft: true }),
        },
      },
    )
    onTestFinished(() => void child.kill('SIGTERM'))
    await ledger.wroteMany({ name: 'ready' }, processes)
    const inputs = [5, 25, 45, 65].map((ms, n) => ({ act: 'work', ms, tx: n % 2 === 0 }))
    const stream = await producer({ name: 'producer', perSecond: size.jobsPerSecond, inputs })
    for (let round = 1; round <= size.rounds; round++) {
      child.kill('SIGHUP')
      await ledger.wroteMany({ name: 'ready' }, processes * (round + 1))
      await ledger.wroteMany({ name: 'stopped' }, processes * round)
    }
    await endOf(stream)
    await untilQuiet(db)
    child.kill('SIGTERM')
    const { code } = await finished
    const result = await audit(db, ledger)
    const { acknowledged, burnedAttempts, crashes, dead, starts } = result.facts
    return {
      counts: { jobs: acknowledged, replaced: processes * size.rounds },
      verdicts: {
        ...verdictsOf(result),
        burnedAttempts,
        crashes,
        dead,
        secondRuns: starts - acknowledged,
        badExit: code === 0 ? 0 : 1,
      },
    }
  },
)
