import type { System } from './system.ts'

/** The user's transaction with nothing enqueued in it: what the in-tx workload compares with. */
export const noQueue: System = {
  name: 'no queue',
  version: '',
  store: 'postgres',
  settings: { enqueue: 'the same transaction without an enqueue', work: '' },
  tunings: { single: [{}], bulk: [{}], drain: [{}], latency: [{}] },
  hasInTx: true,
  missingWorker: 'no queue',
  setup: () =>
    Promise.resolve({
      enqueueOne: () => Promise.resolve(),
      enqueueBulk: () => Promise.resolve(),
      count: () => Promise.resolve(0),
      unfinished: () => Promise.resolve(0),
      teardown: () => Promise.resolve(),
    }),
  prepareWorker: () => Promise.reject(new Error('no queue, no worker')),
}
