import { expect } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import type { Flow, JobContract, Stint } from '../../src/index.ts'
import { CancelJob, PermanentError } from '../../src/worker.ts'
import { eventually } from '../support/eventually.ts'
import { newName, startWorker } from '../support/workers.ts'
import type { Scene, TestWorker } from '../support/workers.ts'

export interface Act {
  /** How the job ends. @default it succeeds */
  end?: 'dead' | 'cancelled' | undefined
  /** What it returns. */
  give?: unknown
}

/** Jobs whose input says how they end, and what they return; with a queue of their own. */
export function actingJob(): JobContract<string, Act, Act> {
  return defineJob({
    kind: 'act',
    queue: newName('act'),
    input: typed<Act>(),
    output: typed<unknown>(),
    retry: { attempts: 1 },
  })
}

/** Runs acting jobs. Those that are in `healed` succeed however their input wants them to end. */
export async function startActing(
  scene: Scene,
  act: JobContract<string, Act, Act>,
  {
    healed = { all: false },
    more = [],
  }: { healed?: { all: boolean }; more?: [JobContract, (input: never) => unknown][] } = {},
): Promise<TestWorker> {
  return startWorker(scene, { queues: { [act.queue]: 10 } }, (worker) => {
    worker.handle(act, ({ end, give }) => {
      if (end === 'dead' && !healed.all) throw new PermanentError('it died')
      if (end === 'cancelled') throw new CancelJob('it was not wanted')
      return give
    })
    for (const [contract, handler] of more) worker.handle(contract, handler as (input: unknown) => unknown)
  })
}

/** The flow once it is in this state, with nothing left to count. */
export async function flowIs(stint: Stint, id: string, state: Flow['state']): Promise<Flow> {
  let flow: Flow | undefined
  await eventually(async () => {
    flow = await stint.flows.get(id)
    expect(flow?.state).toBe(state)
    if (state === 'cancelled') expect(flow?.endedAt).not.toBeNull()
  })
  if (flow === undefined) throw new Error('There is no flow')
  return flow
}

/** How the jobs of each node ended: `{ a: 'succeeded', b: 'waiting' }`, of a group the counts. */
export function ends({ nodes }: Flow): Record<string, string> {
  return Object.fromEntries(
    nodes.map(({ name, total, remaining, succeeded, dead, cancelled }) => [
      name,
      total === 1
        ? remaining > 0
          ? 'left'
          : succeeded > 0
            ? 'succeeded'
            : dead > 0
              ? 'dead'
              : 'cancelled'
        : `${succeeded}+${dead}+${cancelled} of ${total}`,
    ]),
  )
}
