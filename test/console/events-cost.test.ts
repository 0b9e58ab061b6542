import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Live } from '../../src/server/live/live.ts'
import { eventually } from '../support/eventually.ts'
import { workerScene } from '../support/workers.ts'
import type { EventReader } from './event-reader.ts'
import { look, newJobId, openLive, untilIdle } from './live-scene.ts'
import { openStint } from './scene.ts'

const scene = workerScene()

function countStatements(): () => Map<string, number> {
  const spy = vi.spyOn(pg.Client.prototype, 'query')
  onTestFinished(() => {
    spy.mockRestore()
  })
  return () => {
    const counts = new Map<string, number>()
    for (const [query] of spy.mock.calls as unknown as [string | { text: string }][]) {
      const text = typeof query === 'string' ? query : query.text
      // Statements without a name begin and end transactions, or are of a test.
      const name = /\/\* (\S+) \*\//.exec(text)?.[1]
      if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    spy.mockClear()
    return counts
  }
}

async function during(live: Live, ticks: number): Promise<number> {
  const from = live.ticks
  await eventually(() => {
    expect(live.ticks).toBeGreaterThanOrEqual(from + ticks)
    return Promise.resolve()
  })
  return live.ticks - from
}

test('50 viewers cause no more statements than one, and no viewer causes none', async () => {
  const own = openStint(scene.db.url)
  const live = openLive(own, { mostPerActor: 100 })
  const ids = [await newJobId(scene.stint), await newJobId(scene.stint)]
  const topics = `overview,workers,queue:some,job:${ids[0]},job:${ids[1]}`
  const readers = [look(live, topics)]
  const hasAll = ({ events }: EventReader): boolean =>
    events.filter(({ event }) => event === 'snapshot').length >= 5
  const allShown = (): Promise<unknown> =>
    Promise.all(readers.map((reader) => reader.until(() => hasAll(reader), 'all snapshots')))
  await allShown()
  const counted = countStatements()

  const one = { ticks: await during(live, 20), statements: counted() }
  for (let more = 1; more < 50; more++) readers.push(look(live, topics))
  await allShown()
  expect(live.viewers).toBe(50)
  counted()
  const fifty = { ticks: await during(live, 20), statements: counted() }

  expect(one.statements.get('stats/read/job-briefs.sql')).toBeGreaterThanOrEqual(one.ticks - 1)
  // On a slow machine each tick also reads queues and workers, and both read the live workers.
  for (const { ticks, statements } of [one, fifty])
    for (const [name, count] of statements) expect(count, name).toBeLessThanOrEqual(2 * (ticks + 1))
  for (const { ticks, statements } of [one, fifty])
    expect(statements.get('stats/read/job-briefs.sql')).toBeLessThanOrEqual(ticks + 1)
  // 50 viewers cause no statement that one viewer does not.
  expect(
    [...fifty.statements.keys()].filter((name) => !one.statements.has(name) && !isOccasional(name)),
  ).toEqual([])

  await Promise.all(readers.map((reader) => reader.close()))
  await untilIdle(live)
  const { ticks } = live
  counted()
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(live.ticks).toBe(ticks)
  expect([...counted().keys()].filter((name) => name.startsWith('stats/read/'))).toEqual([])
})

/** Statements that are not sent in every second. */
function isOccasional(name: string): boolean {
  return /^(stats\/write|schema|doctor)\/|(read-gauges|read-rates|upkeep|leader-status|services-status|failing-claims|deadly|troubled|stopped|fleet|last-hour|dead-counts|pressure-of|pauses)/.test(
    name,
  )
}
