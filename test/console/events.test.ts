import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Caller } from '../../src/server/auth/caller.ts'
import { topicsIn } from '../../src/server/live/topic.ts'
import { eventually } from '../support/eventually.ts'
import { isOutOf } from '../support/lane.ts'
import { workerScene } from '../support/workers.ts'
import type { EventReader, ReadEvent } from './event-reader.ts'
import {
  ana,
  look,
  newJobId,
  openLive,
  prioritiesTold,
  priorityIn,
  shownOf,
  untilIdle,
} from './live-scene.ts'
import { anything } from './scene.ts'

const scene = workerScene()

test('a stream sends a snapshot of a topic, then its changes', async () => {
  const id = await newJobId(scene.stint)
  const reader = look(openLive(scene.stint), `job:${id}`)
  const first = await reader.tells(({ event }) => event === 'snapshot')
  expect(first.data).toMatchObject({
    topic: `job:${id}`,
    data: { id, state: 'ready', priority: 0, progress: null },
  })
  await scene.stint.reprioritize(id, 5)
  const next = await reader.tells(({ event }) => event === 'delta')
  const set = { priority: 5, revision: expect.any(String) as string }
  expect(next.data).toEqual({ topic: `job:${id}`, set, lists: {} })
  expect(next.id).toMatch(/^[0-9a-f]{16}-\d+$/)
  await scene.stint.cancel(id)
  await reader.tells(({ data }) => (data['set'] as { state?: string } | undefined)?.state === 'cancelled')
})

// Otherwise a page that was read between the change and its reversal would keep the change.
test('a stream sends a delta for a change that was reverted before the next read', async () => {
  const id = await newJobId(scene.stint)
  const reader = look(openLive(scene.stint), `job:${id}`)
  await reader.tells(({ event }) => event === 'snapshot')
  await scene.db.query('update stint.job set priority = priority where id = $1', [id])
  const { data } = await reader.tells(({ event }) => event === 'delta')
  expect(data['set']).toEqual({ revision: expect.any(String) as string })
})

test('a stream sends the queues and workers that changed, with what changed about them', async () => {
  const live = openLive(scene.stint)
  const queue = `q.${randomUUID().slice(0, 8)}`
  const reader = look(live, `overview,workers,queue:${queue}`)
  await reader.until(
    () => reader.events.filter(({ event }) => event === 'snapshot').length === 3,
    'three snapshots',
  )
  expect(shownOf(reader, `queue:${queue}`)).toBeNull()
  await scene.stint.enqueue(anything, null, { queue })
  const delta = await reader.tells(({ event, data }) => {
    const lists = data['lists'] as { queues?: { changed: { queue: string }[] } } | undefined
    return event === 'delta' && lists?.queues?.changed.some((one) => one.queue === queue) === true
  }, 'the queue in the overview')
  expect(delta.data['topic']).toBe('overview')
  // The queue may be listed for its activity before its jobs are counted.
  await reader.until(() => shownOf(reader, `queue:${queue}`)?.['ready'] === 1, 'the queue by itself')
})

const isDeaf = [
  isOutOf('no-notify', 'no NOTIFY says what is stored'),
  isOutOf('pgbouncer', 'whether it hears depends on the sessions of others'),
].some(Boolean)
test.skipIf(isDeaf)('a stream tells that a job was stored in a queue as soon as it hears of it', async () => {
  const queue = `q.${randomUUID().slice(0, 8)}`
  const reader = look(openLive(scene.stint), `queue:${queue}`)
  await reader.tells(({ event }) => event === 'snapshot')
  // The stream does not report jobs that were stored before it listens.
  await eventually(async () => {
    await scene.stint.enqueue(anything, null, { queue })
    const told = reader.events.find(
      ({ event, data }) => event === 'activity' && data['topic'] === `queue:${queue}`,
    )
    expect(told).toBeDefined()
  })
})

test('a stream that breaks is resumed without loss and without repeats', async () => {
  const live = openLive(scene.stint)
  const id = await newJobId(scene.stint)
  const first = look(live, `job:${id}`)
  await first.tells(({ event }) => event === 'snapshot')
  await scene.stint.reprioritize(id, 1)
  await first.until(() => priorityIn(first) === 1, 'the first change')
  const { lastId } = first
  // Another viewer stays, so that changes are sent while the first one is away.
  const other = look(live, `job:${id}`)
  await other.tells(({ event }) => event === 'snapshot')
  await first.close()
  for (const priority of [2, 3]) {
    await scene.stint.reprioritize(id, priority)
    await other.until(() => priorityIn(other) === priority, `change ${priority}`)
  }
  const second = look(live, `job:${id}`, { lastEventId: lastId })
  await scene.stint.reprioritize(id, 4)
  await second.until(() => prioritiesTold(second).includes(4), 'the last change')
  expect(prioritiesTold(first, second)).toEqual([1, 2, 3, 4])
  expect(second.events.map(({ event }) => event)).not.toContain('snapshot')
  expect(second.events.map(({ event }) => event)).not.toContain('reset')
})

test('a stream that breaks while there is no other viewer gets the difference when it resumes', async () => {
  const live = openLive(scene.stint)
  const id = await newJobId(scene.stint)
  const first = look(live, `job:${id}`)
  await first.tells(({ event, id: seen }) => event === 'snapshot' && seen !== undefined)
  const { lastId } = first
  await first.close()
  // A read that is under way would see the first change, and send it too.
  await untilIdle(live)
  await scene.stint.reprioritize(id, 1)
  await scene.stint.reprioritize(id, 2)
  const second = look(live, `job:${id}`, { lastEventId: lastId })
  await second.until(() => prioritiesTold(second).length > 0, 'the difference')
  expect(prioritiesTold(second)).toEqual([2])
  expect(second.events.map(({ event }) => event)).toEqual(['delta'])
})

test('a stream is reset where the changes it missed are forgotten, or its id is of another process or other topics', async () => {
  const live = openLive(scene.stint, { ring: 2 })
  const id = await newJobId(scene.stint)
  const first = look(live, `job:${id}`)
  await first.tells(({ event }) => event === 'snapshot')
  const { lastId } = first
  for (const priority of [1, 2, 3]) {
    await scene.stint.reprioritize(id, priority)
    await first.until(() => priorityIn(first) === priority, `change ${priority}`)
  }
  const expectReset = async (reader: EventReader): Promise<void> => {
    await reader.tells(({ event }) => event === 'snapshot')
    expect(reader.events[0]?.event).toBe('reset')
    expect(reader.events[0]?.id).toBe('')
  }
  const overrun = look(live, `job:${id}`, { lastEventId: lastId })
  await expectReset(overrun)
  expect(priorityIn(overrun)).toBe(3)
  await expectReset(look(openLive(scene.stint), `job:${id}`, { lastEventId: first.lastId }))
  await expectReset(look(live, `job:${id},workers`, { lastEventId: first.lastId }))
  await expectReset(look(live, `job:${id}`, { lastEventId: 'nonsense' }))
  await expectReset(look(openLive(scene.stint, { lingerMs: -1 }), `job:${id}`, { lastEventId: first.lastId }))
})

test('a stream shows each caller only what it may see', async () => {
  const [mine, theirs] = [`mine.${randomUUID().slice(0, 8)}`, `theirs.${randomUUID().slice(0, 8)}`]
  // Not stored by a client, which would count it as activity: a queue is listed for an hour after its last activity.
  const [{ id: job = '' } = {}] = await scene.db.query<{ id?: string }>(
    `select id from stint.enqueue($1, 'any.thing')`,
    [theirs],
  )
  await newJobId(scene.stint, { queue: mine })
  const live = openLive(scene.stint)
  const scoped: Caller = {
    ...ana,
    actor: 'bo',
    can: (_, of) => of?.queue === undefined || of.queue === mine,
  }
  const [all, some] = [
    look(live, `overview,job:${job}`),
    look(live, `overview,job:${job}`, { caller: scoped }),
  ]
  const toldOf = (reader: EventReader, queue: string): Promise<unknown> =>
    reader.tells(({ event, data }) => {
      const isOverview = event !== 'activity' && data['topic'] === 'overview'
      return isOverview && JSON.stringify(data).includes(queue)
    }, `${queue} in the overview`)
  await toldOf(all, theirs)
  await toldOf(some, mine)
  const hidden = await some.tells(({ data }) => data['topic'] === `job:${job}`)
  expect(hidden.data['data']).toBeNull()
  await scene.stint.reprioritize(job, 9)
  await all.until(() => JSON.stringify(all.events).includes('"priority":9'), 'the change')
  // Also when the queue is gone, and when a stream resumes.
  await scene.stint.cancel(job)
  const goneFrom = ({ data }: ReadEvent): boolean =>
    (data['lists'] as { queues?: { gone: string[] } } | undefined)?.queues?.gone.includes(theirs) === true
  const gone = await all.tells(goneFrom, 'the queue that is gone')
  const resumed = look(live, `overview,job:${job}`, { caller: scoped, lastEventId: all.lastId })
  await resumed.tells(({ event }) => event === 'snapshot')
  expect(gone.event).toBe('delta')
  for (const reader of [some, resumed]) {
    expect(JSON.stringify(reader.events)).not.toContain('"priority":9')
    expect(JSON.stringify(reader.events)).not.toContain(theirs)
  }
})

test('a stream ends when its caller is no longer authenticated', async () => {
  let isWelcome = true
  const live = openLive(scene.stint, { pingMs: 20, recheckMs: 20 })
  const reader = look(live, 'workers', { recheck: () => Promise.resolve(isWelcome ? ana : undefined) })
  await reader.tells(({ event }) => event === 'ping')
  await reader.tells(({ event }) => event === 'snapshot')
  expect(reader.isEnded).toBe(false)
  isWelcome = false
  await reader.until(() => reader.isEnded, 'the end')
  expect(live.viewers).toBe(0)
})

test('a stream whose reader does not read is cut off, and other streams are not', async () => {
  const live = openLive(scene.stint, { mostBytes: 500, pingMs: 10 })
  // Nothing ever reads from this stream.
  live.open({ caller: ana, topics: topicsIn('workers').topics, recheck: () => Promise.resolve(ana) })
  const reader = look(live, 'workers')
  await eventually(() => {
    expect(live.dropped).toBe(1)
    return Promise.resolve()
  })
  expect(live.viewers).toBe(1)
  const before = reader.events.length
  await reader.until(() => reader.events.length > before, 'another ping')
})

test('an actor may open only so many streams', async () => {
  const live = openLive(scene.stint, { mostPerActor: 2 })
  look(live, 'workers')
  const second = look(live, 'workers')
  expect(live.hasRoomFor('ana')).toBe(false)
  expect(live.hasRoomFor('bo')).toBe(true)
  await second.close()
  expect(live.hasRoomFor('ana')).toBe(true)
})
