import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { form } from '../../support/form.ts'
import type { Form } from '../../support/form.ts'
import { monotonicMs } from '../../support/ledger.ts'
import { seeded } from './random.ts'
import type { Random } from './random.ts'
import { serverVersion } from './scene.ts'

/** What an experiment found. */
export interface Findings {
  /** How many jobs ran and how many faults were injected: kills, cuts. */
  counts: Record<string, number>
  /** What must not happen, and how often it did. The test fails unless all are zero. */
  verdicts: Record<string, number>
  /** Rates and times that are shown but not judged, because they depend on the machine too. */
  measures?: Record<string, number>
}

/** A run of an experiment, as stored in results.json. */
export interface Run extends Findings {
  name: string
  title: string
  /** Describes what is done to the system. */
  method: string
  seed: number
  size: Record<string, number>
  seconds: number
}

export interface Experiment<Size extends Record<string, number>> extends Record<Form, Size> {
  name: string
  /** A promise in the present tense; also the title of the test and of its section on the page. */
  title: string
  method: string
  /** How long the medium form may take on a busy machine. */
  timeoutMs?: number
}

/** Declares an experiment as a test. It prints its findings, stores them if STINT_RESULTS is set, and judges only its verdicts. */
export function experiment<Size extends Record<string, number>>(
  { name, title, method, timeoutMs = 180_000, ...sizes }: Experiment<Size>,
  run: (scene: { size: Size; random: Random }) => Promise<Findings>,
  isSkipped = false,
): void {
  const size = sizes[form]
  test.skipIf(isSkipped)(
    title,
    async () => {
      const seed = seedOf()
      process.stdout.write(`${name}: seed ${seed}\n`)
      const startedAt = monotonicMs()
      const findings = await run({ size, random: seeded(seed) })
      const seconds = (monotonicMs() - startedAt) / 1_000
      const said: Run = { name, title, method, seed, size, seconds, ...findings }
      process.stdout.write(`${summary(said)}\n`)
      keep(said)
      const expected = Object.fromEntries(Object.keys(findings.verdicts).map((verdict) => [verdict, 0]))
      expect(findings.verdicts).toEqual(expected)
    },
    form === 'long' ? 15 * timeoutMs : timeoutMs,
  )
}

/** STINT_SEED repeats the choices of a run. */
function seedOf(): number {
  const given = process.env['STINT_SEED']
  return given === undefined || given === '' ? Math.floor(Math.random() * 2 ** 31) : Number(given)
}

function summary({ name, seconds, counts, verdicts, measures = {} }: Run): string {
  const listed = (facts: Record<string, number>): string =>
    Object.entries(facts)
      .map(([fact, value]) => `${fact} ${Number(value.toFixed(3))}`)
      .join(', ')
  return `${name}: ${seconds.toFixed(1)} s · ${listed(counts)} · ${listed(verdicts)}${Object.keys(measures).length > 0 ? ` · ${listed(measures)}` : ''}`
}

function keep(run: Run): void {
  const folder = process.env['STINT_RESULTS']
  if (folder === undefined || folder === '') return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${run.name}.json`), JSON.stringify({ run, postgres: serverVersion() }))
}
