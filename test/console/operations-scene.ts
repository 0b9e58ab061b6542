import { onTestFinished } from 'vitest'
import type { JobContract, Operation, OperationState, StartOptions, Stint } from '../../src/index.ts'
import { startOperationsWorker } from '../../src/worker/operations-worker.ts'
import { eventually } from '../support/workers.ts'
import type { Scene } from '../support/workers.ts'

/** The error group of the dead letters. */
export const group = 'b02c9e51b02c9e51'

const over: readonly OperationState[] = ['done', 'stopped', 'aborted', 'paused']

export interface Operations {
  /** The client as Ana, an operator, uses it. */
  ana: () => ReturnType<Stint['as']>
  /** Enqueues jobs and turns all of them into dead letters with one statement. */
  deadLetters: (contract: JobContract, count: number, fingerprint?: string) => Promise<string[]>
  /** Turns all jobs of a queue into dead letters. */
  buryAll: (queue: string, fingerprint?: string) => Promise<void>
  /** Executes operations until the test is finished. */
  executor: (options?: { undecidedMs?: number }) => Promise<void>
  /** Starts a replay of all dead letters of a contract. */
  replay: (contract: JobContract, options: Omit<StartOptions, 'action' | 'where'>) => Promise<Operation>
  until: (id: string, test: (operation: Operation) => boolean) => Promise<Operation>
  /** The operation once it is over or paused. */
  ended: (id: string) => Promise<Operation>
}

/** What the tests of operations share, for the scene of one file. */
export function operationsIn(scene: Scene): Operations {
  const ana: Operations['ana'] = () => scene.stint.as({ actor: 'ana', role: 'operator', origin: 'dashboard' })

  const deadLetters: Operations['deadLetters'] = async (contract, count, fingerprint = group) => {
    const { jobs } = await scene.stint.enqueueMany(
      contract,
      Array.from({ length: count }, (_, n) => ({ n })),
    )
    await buryAll(contract.queue, fingerprint)
    return jobs.map(({ id }) => id)
  }

  const buryAll: Operations['buryAll'] = async (queue, fingerprint = group) => {
    await scene.db.query(
      `with gone as (delete from stint.job where queue = $1 returning *)
       insert into stint.dead (id, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version, created_at,
                               run_at, search, options, input, unique_key, reason, fingerprint)
       select id, queue, kind, key, priority, 5, max_attempts, 0, 7, version, created_at, run_at, search, options, input,
              unique_key, 'exhausted', $2
         from gone`,
      [queue, fingerprint],
    )
  }

  const executor: Operations['executor'] = async (options = {}) => {
    const worker = await startOperationsWorker({ connection: scene.db.url, ...options })
    onTestFinished(() => worker.stop())
  }

  const replay: Operations['replay'] = (contract, options) =>
    ana().operations.start({ action: 'replay', where: `queue:${contract.queue}`, ...options })

  const until: Operations['until'] = async (id, test) => {
    let last: Operation | undefined
    await eventually(async () => {
      last = await scene.stint.operations.get(id)
      return last !== undefined && test(last)
    }, `operation ${id}`)
    if (last === undefined) throw new Error('no operation')
    return last
  }

  const ended: Operations['ended'] = (id) => until(id, ({ state }) => over.includes(state))

  return { ana, deadLetters, buryAll, executor, replay, until, ended }
}

/** How many jobs the counts of an operation add up to. */
export function sum({ acted, skipped, failed, untouched }: Operation): number {
  return acted + skipped + failed + (untouched ?? Number.NaN)
}
