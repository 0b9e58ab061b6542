import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { form } from '../support/form.ts'
import { finish } from '../support/processes.ts'
import { newName, workerScene } from '../support/workers.ts'

const scene = workerScene()
const program = fileURLToPath(new URL('programs/producer.mjs', import.meta.url))
const isShort = form === 'short'

interface Report {
  /** Jobs stored in each tenth of a second. */
  stored: [slot: number, jobs: number][]
  waits: number[]
  refused: number
  grewBytes: number
}

interface Flood {
  queue: string
  perSecond: number
  priority?: number
}

async function produce(flood: Flood): Promise<Report> {
  const setup = { connection: scene.db.url, refusedForMs: 2_500, priority: 0, ...flood }
  const { stdout, stderr, code } = await finish(process.execPath, ['--expose-gc', program], {
    env: { ...process.env, STINT_PROGRAM: JSON.stringify(setup) },
  })
  if (code !== 0) throw new Error(`A producer ended with ${String(code)}:\n${stderr}`)
  return JSON.parse(stdout) as Report
}

async function setRule(queue: string, maxDepth: number, whenFull: string): Promise<void> {
  const rule = JSON.stringify({ maxDepth, maxAgeMs: null, keyMaxDepth: null, whenFull })
  await scene.db.query('insert into stint.queue (name, pressure) values ($1, $2)', [queue, rule])
}

async function depthOf(queue: string): Promise<number> {
  const [row] = await scene.db.query<{ jobs: number }>(
    'select count(*)::integer as jobs from stint.job where queue = $1',
    [queue],
  )
  return row?.jobs ?? 0
}

/** The most jobs that were stored within 2.5 s, and a tenth of a second for the edges of the slots. */
function mostInflow(reports: readonly Report[]): number {
  const slots = new Map<number, number>()
  for (const { stored } of reports)
    for (const [slot, jobs] of stored) slots.set(slot, (slots.get(slot) ?? 0) + jobs)
  const sums = [...slots.keys()].map((first) =>
    Array.from({ length: 26 }, (_, n) => slots.get(first + n) ?? 0).reduce((sum, jobs) => sum + jobs, 0),
  )
  return Math.max(0, ...sums)
}

test('a flood of many processes passes the maximum by no more than 2.5 s of inflow', async () => {
  const queue = newName('flood')
  const [producers, maxDepth, perSecond] = isShort ? [3, 1_500, 150] : [20, 10_000, 100]
  await setRule(queue, maxDepth, 'reject')
  const reports = await Promise.all(Array.from({ length: producers }, () => produce({ queue, perSecond })))
  const depth = await depthOf(queue)
  expect(depth).toBeGreaterThanOrEqual(maxDepth)
  expect(depth).toBeLessThanOrEqual(maxDepth + mostInflow(reports))
  for (const { waits, refused, grewBytes } of reports) {
    expect(refused).toBeGreaterThan(20_000)
    expect(waits.every((ms) => ms >= 2_000 && ms <= 4_000)).toBe(true)
    expect(grewBytes).toBeLessThan(4_000_000)
  }
  const { refused } = await scene.stint.pressure(queue)
  expect(refused).toBe(reports.reduce((sum, report) => sum + report.refused, 0))
})

test.skipIf(isShort)('a flood of several priorities is shed from the lowest up', async () => {
  const queue = newName('flood')
  await setRule(queue, 6_000, 'shed')
  const priorities = [-100, 0, 100]
  const reports = await Promise.all(
    Array.from({ length: 9 }, (_, n) => produce({ queue, perSecond: 50, priority: priorities[n % 3] ?? 0 })),
  )
  expect(await depthOf(queue)).toBeLessThanOrEqual(6_000 + mostInflow(reports))
  const rows = await scene.db.query<{ priority: number; jobs: number }>(
    'select priority, count(*)::integer as jobs from stint.job where queue = $1 group by priority order by priority',
    [queue],
  )
  expect(rows.map(({ priority }) => priority)).toEqual(priorities)
  const [low = 0, middle = 0, high = 0] = rows.map(({ jobs }) => jobs)
  expect(low).toBeLessThan(middle)
  expect(middle).toBeLessThan(high)
})
