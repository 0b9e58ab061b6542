import type { System } from './system.ts'

/** The user's transaction with nothing enqueued in it: what the in-tx workload compares with. */
export const noQueue: System = {
  name: 'no queue',
  version: '',
  store: 'postgres',
  settings: 'the same transaction without an enqueue',
  tunings: { single: [{}], bulk: [{}] },
  hasInTx: true,
  setup: () =>
    Promise.resolve({
      enqueueOne: () => Promise.resolve(),
      enqueueBulk: () => Promise.resolve(),
      count: () => Promise.resolve(0),
      teardown: () => Promise.resolve(),
    }),
}
