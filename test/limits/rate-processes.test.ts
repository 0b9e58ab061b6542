import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { JobContract } from '../../src/index.ts'
import { form } from '../support/form.ts'
import { createLedger, monotonicMs } from '../support/ledger.ts'
import type { Ledger, Line } from '../support/ledger.ts'
import { optionsOfLane } from '../support/way.ts'
import { spawnProgram } from '../support/worker-process.ts'
import { newName, workerScene } from '../support/workers.ts'
import { newRate } from './rates-scene.ts'

const scene = workerScene()
const program = join(import.meta.dirname, 'programs/taker.mjs')
const seconds = { short: 3, medium: 60, long: 600 }[form]
const perSecond = 500

interface Fleet {
  ledger: Ledger
  contract: JobContract
  /** Before the first token was taken. */
  startedAt: number
  /** All processes are at work. */
  beganAt: number
  /** Processes that have ended: a call of theirs failed. */
  ended: string[]
}

/** Four processes with workers and four that take outside of jobs, all at work. */
async function startFleet({ burst, isByHand, pace }: FleetOptions): Promise<Fleet> {
  const ledger = await createLedger()
  const name = newName('rate')
  const job = { kind: newName('use'), queue: newName(), isByHand }
  const contract = defineJob({ kind: job.kind, queue: job.queue })
  const connection = scene.db.url
  const rate = { name, tokens: perSecond, per: '1s', burst } as const
  const setup = { ledger: ledger.file, connection, rate }
  await newRate(scene, rate)
  const workers = [1, 2, 3, 4].map((n) =>
    spawnProgram(program, { ...setup, ...optionsOfLane({ connection }), name: `worker ${n}`, job }),
  )
  const takers = [1, 2, 3, 4].map((n) =>
    spawnProgram(program, { ...setup, name: `taker ${n}`, perSecond: pace }),
  )
  await scene.stint.enqueueMany(
    contract,
    Array.from({ length: (seconds + 20) * perSecond }, () => ({})),
  )
  await ledger.wroteMany({ type: 'ready' }, 8)
  const ended: string[] = []
  for (const one of [...workers, ...takers]) void one.exited.then(() => ended.push(one.output()))
  const startedAt = monotonicMs()
  for (const worker of workers) worker.tell('go')
  await ledger.wroteMany({ type: 'working' }, 4)
  for (const taker of takers) taker.tell('go')
  const { at: beganAt } = await ledger.wrote((line) => line.type === 'use' && line.worker.startsWith('taker'))
  return { ledger, contract, startedAt, beganAt, ended }
}

interface FleetOptions {
  burst: number
  /** Handlers take their tokens; otherwise claims do. */
  isByHand: boolean
  /** What each process outside of jobs takes in a second; undefined: as much as it gets. */
  pace: number | undefined
}

/** How many uses the fleet was ahead of the rate, at the worst instant. */
function ahead(uses: readonly Line[], { burst, startedAt }: { burst: number; startedAt: number }): number {
  return Math.max(...uses.map(({ at }, n) => n + 1 - burst - (perSecond * (at - startedAt)) / 1_000))
}

function usesOf(ledger: Ledger): Line[] {
  return ledger.lines({ type: 'use' }).sort((a, b) => a.at - b.at)
}

interface Shares {
  all: number
  workers: number
  takers: number
}

/** The share of the rate that was used since then, by all and by each sort of process. */
function sharesOf(uses: readonly Line[], beganAt: number): Shares {
  const endedAt = monotonicMs()
  const quota = (perSecond * (endedAt - beganAt)) / 1_000
  const counted = uses.filter(({ at }) => at > beganAt)
  const of = (sort: string): number => counted.filter(({ worker }) => worker.startsWith(sort)).length / quota
  return { all: counted.length / quota, workers: of('worker'), takers: of('taker') }
}

/** How much a fleet uses in a few seconds depends on the machine. */
function expectUsed({ all, workers, takers }: Shares, least: number): void {
  expect(all).toBeGreaterThan(form === 'short' ? 0.3 : least)
  expect(Math.min(workers, takers)).toBeGreaterThan(form === 'short' ? 0 : 0.2)
}

test('8 processes that wait for tokens, in handlers and outside of jobs, use all of the rate and never more', async () => {
  const burst = 50
  const { ledger, startedAt, beganAt, ended } = await startFleet({ burst, isByHand: true, pace: undefined })
  await pause(seconds * 1_000)
  const uses = usesOf(ledger)
  const shares = sharesOf(uses, beganAt)
  expect(ahead(uses, { burst, startedAt })).toBeLessThanOrEqual(0)
  expectUsed(shares, 0.98)
  expect(ended).toEqual([])
})

test('8 processes, half of which claim jobs, never use more than the rate, and a 429 stops them all', async () => {
  // Claims do not reserve tokens: a burst of half a second bridges most halts of a busy machine, and 0.9 the others.
  const burst = 250
  const { ledger, contract, startedAt, beganAt } = await startFleet({ burst, isByHand: false, pace: 60 })
  await pause(seconds * 1_000)
  const shares = sharesOf(usesOf(ledger), beganAt)
  expectUsed(shares, 0.9)

  await scene.stint.enqueue(contract, { isRefused: true }, { priority: 10 })
  const refused = await ledger.wrote({ type: 'refused' })
  const openAt = refused.at + 3_000
  await ledger.wrote((line) => line.type === 'use' && line.at > openAt)
  const uses = usesOf(ledger)
  expect(uses.filter(({ at }) => at > refused.at + 1_000 && at < openAt)).toEqual([])
  expect(ahead(uses, { burst, startedAt })).toBeLessThanOrEqual(0)
})
