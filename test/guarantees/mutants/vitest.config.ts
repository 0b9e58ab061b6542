import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: new URL('../../..', import.meta.url).pathname,
  test: {
    include: ['test/guarantees/mutants/*.mutants.ts'],
    globalSetup: ['test/support/global-setup.ts', 'test/guarantees/mutants/compile.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
})
