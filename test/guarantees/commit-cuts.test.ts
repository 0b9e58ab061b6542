import { enqueueOneSql } from '../../src/jobs/enqueue-one.sql.ts'
import { succeedSql } from '../../src/jobs/succeed.sql.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import type { Line } from '../support/ledger.ts'
import { statementMarks } from '../support/statement-marks.ts'
import { audit, tellStories, untilQuiet, verdictsOf } from './harness/audit.ts'
import { experiment } from './harness/experiment.ts'
import { createScene, endOf } from './harness/scene.ts'

/** Where a commit can be cut, the statement that commits there, and the input of the producer that leads to it. */
const places = [
  { place: 'enqueue', text: statementMarks(enqueueOneSql), input: 0 },
  { place: 'settle', text: statementMarks(succeedSql), input: 0 },
  { place: 'tx', text: 'commit\0', input: 1 },
] as const
const inputs = [
  { act: 'work', ms: 0 },
  { act: 'work', ms: 0, tx: true },
]
const turns = places.flatMap((what) => (['before', 'after'] as const).map((when) => ({ ...what, when })))
type Turn = (typeof turns)[number]
interface Cutting {
  turn: Turn
  /** Whether the repeat of the statement is cut as well. */
  isTwice: boolean
}

experiment(
  {
    name: 'commit-cuts',
    title:
      'a connection that dies before or after its COMMIT reached the server causes neither a double effect nor a failure',
    method:
      'A proxy that reads the protocol cuts the connection of the producer or of the worker at the committing statement of an enqueue, of a settle and of `ctx.tx`: before the server receives it, or after the server has executed it and before the reply. Of some settles the repeat is cut as well. The worker runs new jobs at once, so many jobs have ended before their enqueue is repeated.',
    short: { cutsEach: 8, lanes: 2 },
    medium: { cutsEach: 200, lanes: 8 },
    long: { cutsEach: 2_000, lanes: 8 },
    timeoutMs: 300_000,
  },
  async ({ size, random }) => {
    // In an order that depends on the seed.
    const all = turns
      .flatMap((turn) => Array.from({ length: size.cutsEach }, () => ({ turn, rank: random() })))
      .sort((a, b) => a.rank - b.rank)
      .map(({ turn }) => ({ turn, isTwice: turn.place === 'settle' && random() < 0.25 }))
    // After a cut nearly all time is spent waiting for a new connection or the next try, so several lanes run at once.
    const { lanes } = size
    const found = await Promise.all(
      Array.from({ length: lanes }, (_, lane) => cutAll(all.filter((_turn, n) => n % lanes === lane))),
    )
    const [first, ...others] = found
    if (first === undefined) throw new Error('There is no lane')
    return {
      counts: others.reduce((sum, { counts }) => plus(sum, counts), first.counts),
      verdicts: others.reduce((sum, { verdicts }) => plus(sum, verdicts), first.verdicts),
    }
  },
)

interface Found {
  counts: Record<string, number>
  verdicts: Record<string, number>
}

/** One producer and one worker with their own database, both behind a proxy that makes these cuts. */
async function cutAll(cuts: readonly Cutting[]): Promise<Found> {
  const { db, ledger, worker, producer } = await createScene()
  const proxy = await startFaultProxy(db.url)
  await worker('worker', { connection: proxy.url, sweepEvery: '500ms' })
  const stream = await producer({ name: 'producer', connection: proxy.url, perSecond: 0, inputs })
  const cutAt: Record<string, number> = Object.fromEntries(turns.map((turn) => [nameOf(turn), 0]))
  for (const [n, { turn, isTwice }] of cuts.entries()) {
    for (let time = 1; time <= (isTwice ? 2 : 1); time++) {
      const done = proxy.cutNext(turn)
      if (time === 1) stream.tell(`one ${turn.input}`)
      await done
      cutAt[nameOf(turn)] = (cutAt[nameOf(turn)] ?? 0) + 1
    }
    // Arm the next cut only when no statement of this job is left that it could hit instead.
    const [{ job }] = await Promise.all([ledger.wrote({ type: 'end', n }), ledger.wrote(isAnswer(n))])
    await ledger.wrote((line) => line.name !== undefined && line.job === job)
  }
  await untilQuiet(db)
  await endOf(stream)
  const result = await audit(db, ledger)
  const { acknowledged, burnedAttempts, crashes, dead, starts } = result.facts
  const falseFailures = ledger.lines(({ name = '' }) =>
    ['failed', 'dead', 'leaseLost', 'cancelled'].includes(name),
  )
  await tellStories(db, { ledger, ids: falseFailures.flatMap(({ job = [] }) => job) })
  return {
    counts: { cuts: Object.values(cutAt).reduce((sum, n) => sum + n, 0), jobs: acknowledged, ...cutAt },
    verdicts: {
      ...verdictsOf(result),
      falseFailures: falseFailures.length,
      unacknowledged: cuts.length - acknowledged,
      secondRuns: starts - cuts.length,
      burnedAttempts,
      crashes,
      dead,
    },
  }
}

/** Whether a line is the answer that the producer got for job number n. */
function isAnswer(n: number): (line: Line) => boolean {
  return (line) => line.n === n && ['ack', 'unacknowledged'].includes(line.type)
}

/** For example `settleBefore`. */
function nameOf({ place, when }: Turn): string {
  return `${place}${when === 'before' ? 'Before' : 'After'}`
}

function plus(a: Record<string, number>, b: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(a).map(([name, value]) => [name, value + (b[name] ?? NaN)]))
}
