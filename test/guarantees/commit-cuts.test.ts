import { enqueueOneSql } from '../../src/jobs/enqueue-one.sql.ts'
import { succeedSql } from '../../src/jobs/succeed.sql.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { statementName } from '../support/statement-name.ts'
import { audit, untilQuiet, verdictsOf } from './harness/audit.ts'
import { experiment } from './harness/experiment.ts'
import { createScene, endOf } from './harness/scene.ts'

/** Where a commit can be cut, and the statement that is one. */
const places = [
  { place: 'enqueue', text: statementName(enqueueOneSql), input: { act: 'work', ms: 0 } },
  { place: 'settle', text: statementName(succeedSql), input: { act: 'work', ms: 0 } },
  { place: 'ctx.tx', text: 'commit\0', input: { act: 'work', ms: 0, tx: true } },
] as const

experiment(
  {
    name: 'commit-cuts',
    title:
      'a connection that dies before or after its COMMIT reached the server makes neither double nor failure',
    method:
      'A proxy that reads the protocol cuts the connection of the producer or of the worker at the committing statement of an enqueue, of a batched settle and of `ctx.tx`: before the server has it, or after it was carried out and before the reply. A second worker that nobody cuts runs jobs at once, so that many have ended before their enqueue is repeated.',
    short: { cutsEach: 25 },
    long: { cutsEach: 250 },
  },
  async ({ size, random }) => {
    const scene = await createScene()
    const { db, ledger, worker, producer } = scene
    const proxy = await startFaultProxy(db.url)
    const producers = await Promise.all(
      places.map(({ place, input }, index) =>
        producer({
          ...{ name: place, perSecond: 0, from: index * 1_000_000, inputs: [input] },
          connection: place === 'enqueue' ? proxy.url : db.url,
        }),
      ),
    )
    const cutWorker = await worker('cut', { connection: proxy.url, sweepEvery: '500ms' })
    const turns = places.flatMap((what, index) =>
      (['before', 'after'] as const).flatMap((when) =>
        Array.from({ length: size.cutsEach }, () => ({ ...what, when, index, rank: random() })),
      ),
    )
    // In an order that the seed decides; enqueues last, when the other worker helps.
    turns.sort((a, b) => a.rank - b.rank)
    const ofWorkers = turns.filter(({ place }) => place !== 'enqueue')
    const ofProducers = turns.filter(({ place }) => place === 'enqueue')
    let cuts = 0
    const cut = async ({ text, when, index }: (typeof turns)[number]): Promise<void> => {
      const before = ledger.lines({ type: 'end' }).length
      const done = proxy.cutNext({ text, when })
      producers[index]?.tell('one')
      await done
      cuts++
      await ledger.wroteMany({ type: 'end' }, before + 1)
    }
    for (const turn of ofWorkers) await cut(turn)
    await untilQuiet(db)
    cutWorker.signal('SIGTERM')
    await cutWorker.exited
    await worker('other', { sweepEvery: '500ms' })
    for (const turn of ofProducers) {
      await cut(turn)
      const { n: wanted } = ledger.lines({ type: 'intent', worker: 'enqueue' }).at(-1) ?? {}
      await ledger.wrote((line) => line.worker === 'enqueue' && line.type !== 'intent' && line.n === wanted)
    }
    await untilQuiet(db)
    for (const one of producers) await endOf(one)
    const result = await audit(db, ledger)
    const { acknowledged, burnedAttempts, crashes, dead, starts } = result.facts
    const falseFailures = ledger.lines(({ name = '' }) =>
      ['failed', 'dead', 'leaseLost', 'cancelled'].includes(name),
    )
    for (const line of falseFailures) {
      const story = ledger.lines(({ job }) => job === line.job)
      process.stdout.write(`${story.map((one) => JSON.stringify(one)).join('\n')}\n\n`)
    }
    return {
      counts: { cuts, jobs: acknowledged },
      verdicts: {
        ...verdictsOf(result),
        falseFailures: falseFailures.length,
        unacknowledged: cuts - acknowledged,
        secondRuns: starts - cuts,
        ...{ burnedAttempts, crashes, dead },
      },
    }
  },
)
