import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

/** The files that take longest, the longest first. Only the duration of a run depends on it. */
const longest: readonly string[] = [
  'worker/hanging-loops',
  'guarantees/poison',
  'worker/isolation',
  'worker/isolation-children',
  'worker/idle',
  'supervisor-signals',
  'supervisor',
  'guarantees/named',
  'browser/screens',
  'worker/lease',
  'database-trouble/bad-row',
  'plans',
  'doctor/database-findings',
  'doctor/worker-findings',
  'doctor/checks',
  'upkeep/indexes',
  'promises/crash',
  'worker/output-values',
  'worker/outputs',
  'worker/output-warnings',
  'promises/blocked',
  'browser/cli-lines',
  'guarantees/blocked-loop',
  'database-trouble/connections',
  'gauge-refresh',
  'guarantees/outage',
  'guarantees/zombies',
  'guarantees/blackhole',
  'numbers',
]

/** Long files begin first, so that none of them runs alone at the end while the other processes are idle. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.sort((a, b) => rankOf(a) - rankOf(b))
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
  return rank === -1 ? longest.length : rank
}

/** The cheapest files first, as many as fit into STINT_TEST_BUDGET seconds of tests: for `npm run test:quick`. */
export class WithinBudget extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const costs = files
      .map((file) => ({ file, seconds: this.#secondsOf(file) }))
      .sort((a, b) => a.seconds - b.seconds)
    let left = Number(process.env['STINT_TEST_BUDGET'])
    const chosen = costs.filter(({ seconds }) => (left -= seconds) >= 0)
    const leftOut = files.length - chosen.length
    if (leftOut > 0)
      process.stdout.write(
        `${leftOut} of ${files.length} test files do not fit into a minute: npm test runs them\n`,
      )
    return super.sort(chosen.map(({ file }) => file))
  }

  /** The duration of its last run here; a file that never ran is estimated by its folder. */
  #secondsOf(file: TestSpecification): number {
    const name = file.moduleId.slice(this.ctx.config.root.length + 1)
    const last = this.ctx.cache.getFileTestResults(`${file.project.name}:${name}`)
    if (last !== undefined) return last.duration / 1_000
    if (!name.startsWith('test/')) return 0.2
    return rankOf(file) < longest.length ? 30 : 4
  }
}
