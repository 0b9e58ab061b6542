import { configDefaults, defineConfig } from 'vitest/config'
import { environmentOfLane, filesOfLane, filesOutOfLane } from './test/support/lane.ts'
import { patienceMs } from './test/support/patience.ts'
import { LongestFirst, WithinBudget } from './test/support/sequence.ts'

export default defineConfig({
  test: {
    include: [...filesOfLane],
    exclude: [...configDefaults.exclude, ...filesOutOfLane],
    env: { ...environmentOfLane },
    globalSetup: ['test/support/global-setup.ts'],
    // Real processes and a real server on two cores: a test may be slow, it must not be flaky.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: patienceMs } },
    // Files wait for processes and the server more than they compute: five at a time, also on two cores.
    maxWorkers: 5,
    // A process for each file would spend a minute on loading the same modules again; what a file needs for itself is its database.
    isolate: false,
    sequence: {
      concurrent: false,
      sequencer: process.env['STINT_TEST_BUDGET'] === undefined ? LongestFirst : WithinBudget,
    },
  },
})
