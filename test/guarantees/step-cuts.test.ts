import { Stint } from '../../src/index.ts'
import { endSql } from '../../src/flows/endings/end.sql.ts'
import { recordSql } from '../../src/flows/steps/record.sql.ts'
import { sendSignalSql } from '../../src/flows/waiting/send-signal.sql.ts'
import { suspendSql } from '../../src/flows/waiting/suspend.sql.ts'
import { takeSignalSql } from '../../src/flows/waiting/take-signal.sql.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { statementMarks } from '../support/statement-marks.ts'
import { onTestFinished } from 'vitest'
import { tellStories, untilQuiet } from './harness/audit.ts'
import { experiment } from './harness/experiment.ts'
import { createScene } from './harness/scene.ts'

/** Where a commit is cut, and what the ledger says before: the cut is armed then. */
const places = [
  { place: 'record', text: statementMarks(recordSql), armAt: undefined },
  { place: 'stepTx', text: 'commit\0', armAt: undefined },
  { place: 'suspend', text: statementMarks(suspendSql), armAt: undefined },
  { place: 'signal', text: statementMarks(sendSignalSql), armAt: 'waits' },
  { place: 'take', text: statementMarks(takeSignalSql), armAt: 'waits' },
  { place: 'end', text: statementMarks(endSql), armAt: 'waits' },
] as const
const turns = places.flatMap((what) => (['before', 'after'] as const).map((when) => ({ ...what, when })))

experiment(
  {
    name: 'step-cuts',
    title:
      'a connection that dies before or after the COMMIT of a step, a wait or a signal doubles nothing and loses nothing',
    method:
      'A proxy that reads the protocol cuts the connection of the worker, or of the sender of the signal, at one committing statement of each job: the record of a step, `ctx.stepTx`, the suspend, the signal, its taking, and the end of a job with steps. Half of the cuts are made before the server receives the statement, half after it was executed and before the reply.',
    short: { cutsEach: 1, lanes: 1 },
    medium: { cutsEach: 50, lanes: 4 },
    long: { cutsEach: 500, lanes: 4 },
    timeoutMs: 300_000,
  },
  async ({ size }) => {
    const perLane = Math.ceil(size.cutsEach / size.lanes)
    const lanes = await Promise.all(Array.from({ length: size.lanes }, () => cutAll(perLane)))
    const sum = (key: 'counts' | 'verdicts'): Record<string, number> => {
      const total: Record<string, number> = {}
      for (const lane of lanes)
        for (const [name, value] of Object.entries(lane[key])) total[name] = (total[name] ?? 0) + value
      return total
    }
    return { counts: sum('counts'), verdicts: sum('verdicts') }
  },
)

interface Found {
  counts: Record<string, number>
  verdicts: Record<string, number>
}

/** A worker and a sender of signals with their own database, both behind a proxy that makes these cuts. */
async function cutAll(times: number): Promise<Found> {
  const { db, ledger, stint, contract, worker } = await createScene()
  const proxy = await startFaultProxy(db.url)
  const sender = new Stint({ connection: proxy.url, notify: false })
  onTestFinished(() => sender.close())
  await worker('worker', { connection: proxy.url, sweepEvery: '500ms' })
  const ids: string[] = []
  const cuts: Record<string, number> = {}
  for (let time = 0; time < times; time++) {
    for (const { place, text, when, armAt } of turns) {
      const early = armAt === undefined ? proxy.cutNext({ text, when }) : undefined
      const { id } = await stint.enqueue(contract, { act: 'cut' })
      ids.push(id)
      const isOver = (line: { type: string; job?: string; name?: string }): boolean => line.job === id
      await ledger.wrote({ name: 'waiting', job: id })
      await early
      const late = armAt === undefined ? undefined : proxy.cutNext({ text, when })
      await sender.signal(id, 'go', { part: 1 }, { key: 'k' })
      await late
      await ledger.wrote((line) => isOver(line) && ['succeeded', 'dead'].includes(line.name ?? ''))
      const name = `${place}${when === 'before' ? 'Before' : 'After'}`
      cuts[name] = (cuts[name] ?? 0) + 1
    }
  }
  await untilQuiet(db)
  const [found] = await db.query<{
    succeeded: number
    payloads: number
    burned: number
    suspends: number
    left: number
    effects: number
  }>(
    `select count(*) filter (where state = 'succeeded')::integer as succeeded,
            count(*) filter (where result -> 'parts' = '[1]' and not (result -> 'isDoubled')::boolean)::integer as payloads,
            sum(attempt - 1)::integer as burned,
            (select count(*) from (select from stint.attempt where outcome = 'waiting' group by job_id having count(*) <> 2) as odd)::integer as suspends,
            (select count(*) from stint.step)::integer + (select count(*) from stint.signal)::integer as left,
            (select count(*) from effect)::integer as effects
       from stint.finished`,
  )
  const falseFailures = ledger.lines(({ name = '' }) =>
    ['failed', 'dead', 'leaseLost', 'cancelled', 'released'].includes(name),
  )
  await tellStories(db, { ledger, ids: falseFailures.flatMap(({ job = [] }) => job) })
  const ran = ledger.lines({ type: 'ran' }).length
  const { succeeded = 0, payloads = 0, burned = NaN, suspends = NaN, left = NaN, effects = NaN } = found ?? {}
  return {
    counts: { cuts: ids.length, jobs: ids.length, ...cuts },
    verdicts: {
      lost: ids.length - succeeded,
      effectsLostOrDoubled: Math.abs(effects - ids.length),
      stepsRepeated: Math.abs(ran - ids.length),
      suspendsLostOrDoubled: suspends,
      signalsLostOrDoubled: ids.length - payloads,
      falseFailures: falseFailures.length,
      burnedAttempts: burned,
      leftBehind: left,
    },
  }
}
