import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Stint } from '../../src/index.ts'
import type { Caller } from '../../src/server/auth/caller.ts'
import { nodeListener } from '../../src/server.ts'
import { SystemReport } from '../../src/server/api/system.ts'
import { Live } from '../../src/server/live/live.ts'
import type { LiveOptions } from '../../src/server/live/live.ts'
import { topicsIn } from '../../src/server/live/topic.ts'
import { liveSource } from '../../src/server/live/source.ts'
import { SharedReads } from '../../src/server/answers/shared-reads.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { isOutOf } from '../support/lane.ts'
import { standStill } from '../support/stand-still.ts'
import { newJob, startFor } from '../support/workers.ts'
import { EventReader } from './event-reader.ts'
import type { ReadEvent } from './event-reader.ts'
import { anything, call, openConsole, openStint, tokens } from './scene.ts'

let db: TestDatabase
let stint: Stint
beforeAll(async () => {
  db = await createTestDatabase()
  stint = new Stint({ connection: db.url })
})
afterAll(async () => {
  await stint.close()
  await db.drop()
})

const ana: Caller = { actor: 'ana', role: 'viewer', origin: 'api', can: () => true }

/** Polls ten times as often as it does for people. */
function openLive(options: Partial<LiveOptions> = {}, own = stint): Live {
  const source = liveSource(own, new SharedReads(own), { canListen: true })
  const live = new Live({ source, tickMs: 50, ...options })
  onTestFinished(() => live.close())
  return live
}

interface LookOptions {
  caller?: Caller
  lastEventId?: string
  recheck?: () => Promise<Caller | undefined>
}

function look(live: Live, topics: string, options: LookOptions = {}): EventReader {
  const { caller = ana, lastEventId, recheck = () => Promise.resolve(caller) } = options
  return new EventReader(live.open({ caller, topics: topicsIn(topics).topics, lastEventId, recheck }))
}

/** Waits until the live part stops reading, because there is no viewer left. */
async function untilIdle(live: Live): Promise<void> {
  await eventually(() => {
    expect(live.isLooking).toBe(false)
    return Promise.resolve()
  })
}

async function newJobId(options: Parameters<Stint['enqueue']>[2] = {}): Promise<string> {
  const { id } = await stint.enqueue(anything, null, { queue: `q.${randomUUID().slice(0, 8)}`, ...options })
  return id
}

type Shown = Record<string, unknown> | null

/**
 * What a page shows of a topic if it keeps the last snapshot and applies the deltas; undefined before the first snapshot.
 */
function shownOf({ events }: EventReader, topic: string): Shown | undefined {
  let shown: Shown | undefined
  for (const { event, data } of events) {
    if (data['topic'] !== topic) continue
    if (event === 'snapshot') shown = data['data'] as Shown
    if (event === 'delta') shown = { ...shown, ...(data['set'] as object) }
  }
  return shown
}

/** The priority that a reader of one job shows. */
function priorityIn(reader: EventReader): unknown {
  const topic = reader.events.find(({ event }) => event === 'snapshot')?.data['topic']
  return shownOf(reader, String(topic))?.['priority']
}

/** The changes of a job's priority in the order in which they were sent. */
function prioritiesTold(...readers: readonly EventReader[]): unknown[] {
  return readers.flatMap(({ events }) =>
    events.flatMap(({ event, data }) => {
      const set = event === 'delta' ? (data['set'] as Record<string, unknown>) : {}
      return 'priority' in set ? [set['priority']] : []
    }),
  )
}

describe('a stream', () => {
  test('a stream sends a snapshot of a topic, then its changes', async () => {
    const id = await newJobId()
    const reader = look(openLive(), `job:${id}`)
    const first = await reader.tells(({ event }) => event === 'snapshot')
    expect(first.data).toMatchObject({
      topic: `job:${id}`,
      data: { id, state: 'ready', priority: 0, progress: null },
    })
    await stint.reprioritize(id, 5)
    const next = await reader.tells(({ event }) => event === 'delta')
    const set = { priority: 5, revision: expect.any(String) as string }
    expect(next.data).toEqual({ topic: `job:${id}`, set, lists: {} })
    expect(next.id).toMatch(/^[0-9a-f]{16}-\d+$/)
    await stint.cancel(id)
    await reader.tells(({ data }) => (data['set'] as { state?: string } | undefined)?.state === 'cancelled')
  })

  // Otherwise a page that was read between the change and its reversal would keep the change.
  test('a stream sends a delta for a change that was reverted before the next read', async () => {
    const id = await newJobId()
    const reader = look(openLive(), `job:${id}`)
    await reader.tells(({ event }) => event === 'snapshot')
    await db.query('update stint.job set priority = priority where id = $1', [id])
    const { data } = await reader.tells(({ event }) => event === 'delta')
    expect(data['set']).toEqual({ revision: expect.any(String) as string })
  })

  test('a stream sends the queues and workers that changed, with what changed about them', async () => {
    const live = openLive()
    const queue = `q.${randomUUID().slice(0, 8)}`
    const reader = look(live, `overview,workers,queue:${queue}`)
    await reader.until(
      () => reader.events.filter(({ event }) => event === 'snapshot').length === 3,
      'three snapshots',
    )
    expect(shownOf(reader, `queue:${queue}`)).toBeNull()
    await stint.enqueue(anything, null, { queue })
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
  test.skipIf(isDeaf)(
    'a stream tells that a job was stored in a queue as soon as it hears of it',
    async () => {
      const queue = `q.${randomUUID().slice(0, 8)}`
      const reader = look(openLive(), `queue:${queue}`)
      await reader.tells(({ event }) => event === 'snapshot')
      // The stream does not report jobs that were stored before it listens.
      await eventually(async () => {
        await stint.enqueue(anything, null, { queue })
        const told = reader.events.find(
          ({ event, data }) => event === 'activity' && data['topic'] === `queue:${queue}`,
        )
        expect(told).toBeDefined()
      })
    },
  )

  test('a stream that breaks is resumed without loss and without repeats', async () => {
    const live = openLive()
    const id = await newJobId()
    const first = look(live, `job:${id}`)
    await first.tells(({ event }) => event === 'snapshot')
    await stint.reprioritize(id, 1)
    await first.until(() => priorityIn(first) === 1, 'the first change')
    const { lastId } = first
    // Another viewer stays, so that changes are sent while the first one is away.
    const other = look(live, `job:${id}`)
    await other.tells(({ event }) => event === 'snapshot')
    await first.close()
    for (const priority of [2, 3]) {
      await stint.reprioritize(id, priority)
      await other.until(() => priorityIn(other) === priority, `change ${priority}`)
    }
    const second = look(live, `job:${id}`, { lastEventId: lastId })
    await stint.reprioritize(id, 4)
    await second.until(() => prioritiesTold(second).includes(4), 'the last change')
    expect(prioritiesTold(first, second)).toEqual([1, 2, 3, 4])
    expect(second.events.map(({ event }) => event)).not.toContain('snapshot')
    expect(second.events.map(({ event }) => event)).not.toContain('reset')
  })

  test('a stream that breaks while there is no other viewer gets the difference when it resumes', async () => {
    const live = openLive()
    const id = await newJobId()
    const first = look(live, `job:${id}`)
    await first.tells(({ event, id: seen }) => event === 'snapshot' && seen !== undefined)
    const { lastId } = first
    await first.close()
    // A read that is under way would see the first change, and send it too.
    await untilIdle(live)
    await stint.reprioritize(id, 1)
    await stint.reprioritize(id, 2)
    const second = look(live, `job:${id}`, { lastEventId: lastId })
    await second.until(() => prioritiesTold(second).length > 0, 'the difference')
    expect(prioritiesTold(second)).toEqual([2])
    expect(second.events.map(({ event }) => event)).toEqual(['delta'])
  })

  test('a stream is reset where the changes it missed are forgotten, or its id is of another process or other topics', async () => {
    const live = openLive({ ring: 2 })
    const id = await newJobId()
    const first = look(live, `job:${id}`)
    await first.tells(({ event }) => event === 'snapshot')
    const { lastId } = first
    for (const priority of [1, 2, 3]) {
      await stint.reprioritize(id, priority)
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
    await expectReset(look(openLive(), `job:${id}`, { lastEventId: first.lastId }))
    await expectReset(look(live, `job:${id},workers`, { lastEventId: first.lastId }))
    await expectReset(look(live, `job:${id}`, { lastEventId: 'nonsense' }))
    await expectReset(look(openLive({ lingerMs: -1 }), `job:${id}`, { lastEventId: first.lastId }))
  })

  test('a stream shows each caller only what it may see', async () => {
    const [mine, theirs] = [`mine.${randomUUID().slice(0, 8)}`, `theirs.${randomUUID().slice(0, 8)}`]
    // Not stored by a client, which would count it as activity: a queue is listed for an hour after its last activity.
    const [{ id: job = '' } = {}] = await db.query<{ id?: string }>(
      `select id from stint.enqueue($1, 'any.thing')`,
      [theirs],
    )
    await newJobId({ queue: mine })
    const live = openLive()
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
    await stint.reprioritize(job, 9)
    await all.until(() => JSON.stringify(all.events).includes('"priority":9'), 'the change')
    // Also when the queue is gone, and when a stream resumes.
    await stint.cancel(job)
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
    const live = openLive({ pingMs: 20, recheckMs: 20 })
    const reader = look(live, 'workers', { recheck: () => Promise.resolve(isWelcome ? ana : undefined) })
    await reader.tells(({ event }) => event === 'ping')
    await reader.tells(({ event }) => event === 'snapshot')
    expect(reader.isEnded).toBe(false)
    isWelcome = false
    await reader.until(() => reader.isEnded, 'the end')
    expect(live.viewers).toBe(0)
  })

  test('a stream whose reader does not read is cut off, and other streams are not', async () => {
    const live = openLive({ mostBytes: 500, pingMs: 10 })
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
    const live = openLive({ mostPerActor: 2 })
    look(live, 'workers')
    const second = look(live, 'workers')
    expect(live.hasRoomFor('ana')).toBe(false)
    expect(live.hasRoomFor('bo')).toBe(true)
    await second.close()
    expect(live.hasRoomFor('ana')).toBe(true)
  })
})

describe('the cost of streams', () => {
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
    const own = openStint(db.url)
    const live = openLive({ mostPerActor: 100 }, own)
    const ids = [await newJobId(), await newJobId()]
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
    return /^(stats\/write|schema|doctor)\/|(read-gauges|read-rates|upkeep|leader-status|services-status|failing-claims|deadly|troubled|stopped|fleet|last-hour|dead-counts)/.test(
      name,
    )
  }
})

describe('a database that is down', () => {
  test('all viewers learn that the database is down and back, and then get what they missed', async () => {
    const proxy = await startFaultProxy(db.url)
    const own = new Stint({ connection: proxy.url, timeout: '3s', notify: false })
    onTestFinished(() => own.close())
    const id = await newJobId()
    const live = openLive({}, own)
    const reader = look(live, `job:${id}`)
    await reader.tells(({ event }) => event === 'snapshot')
    const heal = proxy.blackhole()
    const trouble = await reader.tells(({ event }) => event === 'trouble')
    expect(trouble.data).toEqual({
      detail: expect.any(String) as string,
      since: expect.any(String) as string,
    })
    expect(JSON.stringify(trouble.data)).not.toMatch(/select|127\.0\.0\.1|localhost/)
    const late = look(live, `job:${id}`)
    await late.tells(({ event }) => event === 'trouble', 'trouble for who comes later')
    await stint.reprioritize(id, 6)
    // Not awaited: it resolves when the caught connections have ended, and they need not end.
    void heal()
    await reader.tells(({ event }) => event === 'healed')
    await reader.until(() => priorityIn(reader) === 6, 'what changed meanwhile')
    await late.until(() => priorityIn(late) === 6, 'what it has not seen')
  })
})

test('a console that stood still does not report the database as down', async () => {
  const source = liveSource(stint, new SharedReads(stint), { canListen: false })
  const stood = { isOver: false }
  const live = openLive({
    source: {
      ...source,
      jobs: (ids) => {
        const answer = source.jobs(ids)
        // Longer than the console waits for the database: its timer fires before it can read the answer.
        if (!stood.isOver) standStill(3_300)
        stood.isOver = true
        return answer
      },
    },
  })
  const reader = look(live, `job:${await newJobId()}`)
  await reader.tells(({ event }) => event === 'snapshot')
  expect(reader.events.map(({ event }) => event)).toEqual(['snapshot'])
})

describe('waiting for the end of a job', () => {
  test('a wait for the end of a job resolves with its final state, or with nothing after the timeout', async () => {
    const live = openLive()
    const contract = newJob('wait')
    const worker = await startFor({ db, stint }, contract, () => 'done')
    const { id } = await stint.enqueue(contract, null)
    expect(await live.jobEnded(id, 20_000)).toBe('succeeded')
    await worker.hears('succeeded', id)
    const waiting = await newJobId()
    expect(await live.jobEnded(waiting, 100)).toBeUndefined()
    expect(await live.jobEnded(randomUUID(), 20_000)).toBeUndefined()
    expect(live.waits).toBe(0)
  })

  test('many waits are answered by one read', async () => {
    const live = openLive()
    const ids = await Promise.all(Array.from({ length: 20 }, () => newJobId()))
    // The first read begins with the first wait, and may be the one that finds all.
    const before = live.ticks
    const ends = ids.map((id) => live.jobEnded(id, 20_000))
    for (const id of ids) await stint.cancel(id)
    expect(new Set(await Promise.all(ends))).toEqual(new Set(['cancelled']))
    expect(live.ticks).toBeGreaterThan(before)
  })

  test('a request waits for the end of its job with Prefer: wait', async () => {
    const worker = await startFor({ db, stint }, anything, () => ({ said: 'hello' }))
    const answer = await call(openConsole(db.url), 'POST /v1/jobs', {
      token: tokens.operator.token,
      headers: { Prefer: 'wait=20' },
      json: { kind: 'any.thing', input: null },
    })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('Preference-Applied')).toBe('wait=20')
    expect(answer.body).toMatchObject({ state: 'succeeded', result: { said: 'hello' } })
    await worker.hears('succeeded', answer.body['id'] as string)
  })
})

describe('GET /v1/events', () => {
  async function viewersOf(served: ReturnType<typeof openConsole>): Promise<number> {
    const { body } = await call(served, 'GET /v1/system', { token: tokens.viewer.token })
    return SystemReport.parse(body).console.viewers
  }

  async function stream(
    served: ReturnType<typeof openConsole>,
    topics: string,
    headers = {},
  ): Promise<Response> {
    return served.fetch(
      new Request(`http://console.test/v1/events?topics=${topics}`, {
        headers: { Authorization: `Bearer ${tokens.viewer.token}`, ...headers },
      }),
    )
  }

  test('GET /v1/events is a stream that no proxy may store, change or buffer', async () => {
    const id = await newJobId()
    const served = openConsole(db.url)
    const response = await stream(served, `job:${id}`)
    expect(response.status).toBe(200)
    expect(response.headers.get('Content-Type')).toBe('text/event-stream; charset=utf-8')
    expect(response.headers.get('Cache-Control')).toContain('no-transform')
    expect(response.headers.get('X-Accel-Buffering')).toBe('no')
    const first = new EventReader(response.body ?? new ReadableStream())
    await first.tells(({ event }) => event === 'snapshot')
    await first.close()
    await stint.reprioritize(id, 3)
    const again = await stream(served, `job:${id}`, { 'Last-Event-ID': first.lastId })
    const second = new EventReader(again.body ?? new ReadableStream())
    const delta = await second.tells(({ event }) => event === 'delta')
    expect(delta.data['set']).toMatchObject({ priority: 3 })
  })

  test('GET /v1/events refuses invalid topics, signed-out callers and hidden queues', async () => {
    const served = openConsole(db.url)
    for (const wrong of ['', 'nothing', 'job:1', 'queue:', `job:${randomUUID()},x`, 'queue:a%20b'])
      expect((await stream(served, wrong)).status, wrong).toBe(400)
    const answer = (await (await stream(served, 'nothing')).json()) as object
    expect(answer).toMatchObject({
      type: 'urn:stint:problem:invalid-parameters',
      errors: [{ pointer: '/query/topics' }],
    })
    const many = Array.from({ length: 51 }, (_, n) => `queue:q${n}`).join()
    expect((await stream(served, many)).status).toBe(400)
    expect((await call(served, 'GET /v1/events?topics=overview')).status).toBe(401)
    const scoped = openConsole(db.url, {
      tokens: [],
      auth: () => ({ actor: 'ana', role: 'viewer', can: (_, of) => of?.queue !== 'hidden' }),
    })
    expect((await call(scoped, 'GET /v1/events?topics=queue:hidden')).status).toBe(404)
  })

  test('a stream over real HTTP stops when its client disconnects', async () => {
    const served = openConsole(db.url)
    const server = createServer(nodeListener(served))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const headers = { Authorization: `Bearer ${tokens.viewer.token}` }
    const leave = new AbortController()
    const response = await fetch(`http://127.0.0.1:${port}/v1/events?topics=workers`, {
      headers,
      signal: leave.signal,
    })
    const reader = new EventReader(response.body ?? new ReadableStream())
    await reader.tells(({ event }) => event === 'snapshot')
    expect(await viewersOf(served)).toBe(1)
    leave.abort()
    await eventually(async () => {
      expect(await viewersOf(served)).toBe(0)
    })
  })

  test('HEAD /v1/events opens no stream', async () => {
    const served = openConsole(db.url)
    const answer = await call(served, 'HEAD /v1/events?topics=overview', { token: tokens.viewer.token })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('Content-Type')).toBe('text/event-stream; charset=utf-8')
    expect(await viewersOf(served)).toBe(0)
  })

  test('no stream opens for a client that disconnects while it is authenticated', async () => {
    const leave = new AbortController()
    const served = openConsole(db.url, {
      tokens: [],
      auth: async (request) => {
        if (request.url.includes('/v1/events')) leave.abort()
        await Promise.resolve()
        return { actor: 'ana', role: 'viewer' }
      },
    })
    const request = new Request('http://console.test/v1/events?topics=workers', { signal: leave.signal })
    // Nothing reads this stream, and nothing cancels it.
    expect((await served.fetch(request)).status).toBe(200)
    expect(await viewersOf(served)).toBe(0)
  })

  test('a stream whose client disconnects before the first read is closed', async () => {
    const served = openConsole(db.url)
    const leave = new AbortController()
    const headers = { Authorization: `Bearer ${tokens.viewer.token}` }
    const url = 'http://console.test/v1/events?topics=workers'
    await served.fetch(new Request(url, { headers, signal: leave.signal }))
    expect(await viewersOf(served)).toBe(1)
    leave.abort()
    expect(await viewersOf(served)).toBe(0)
  })

  test('a stream ends when the console closes', async () => {
    const served = openConsole(db.url)
    const response = await stream(served, 'workers')
    const reader = new EventReader(response.body ?? new ReadableStream())
    await reader.tells(({ event }) => event === 'snapshot')
    await served.close()
    await reader.until(() => reader.isEnded, 'the end')
  })
})
