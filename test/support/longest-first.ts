import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

/** Those that take most of a minute or more, the longest first. Nothing hangs on it but the time that a run takes. */
const longest = [
  'guarantees/zombies',
  'browser/screens',
  'console/fuzz',
  'worker/hanging-loops',
  'guarantees/commit-cuts',
  'guarantees/poison',
  'guarantees/kill-storm',
  'console/cli-lines',
  'guarantees/fires',
  'worker/isolation',
  'guarantees/named',
  'numbers',
  'worker/idle',
  'supervisor',
  'database-trouble/bad-row',
  'browser/cli-lines',
]

/** Long files begin first, so that none of them is at work alone in the end while the other processes have nothing to do. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.sort((a, b) => placeOf(a) - placeOf(b))
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
  return place === -1 ? longest.length : place
}
