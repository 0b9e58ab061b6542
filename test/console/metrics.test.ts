import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineLimit, Stint } from '../../src/index.ts'
import { metricsText } from '../../src/server/answers/metrics.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { gate, newJob, newName, startWorker } from '../support/workers.ts'
import { givenMinute, givenWorker } from './numbers-given.ts'
import { anything, call, openConsole, tokens } from './scene.ts'

const viewer = { token: tokens.viewer.token }

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

interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

/** Reads the Prometheus text format, and refuses every line that is not part of it. */
function parse(text: string): { samples: Sample[]; types: Map<string, string> } {
  expect(text.endsWith('\n')).toBe(true)
  const types = new Map<string, string>()
  const samples: Sample[] = []
  for (const line of text.slice(0, -1).split('\n')) {
    const [, comment, name = '', rest = ''] =
      /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line) ?? []
    if (comment === 'TYPE') {
      expect(types.has(name), `two types of ${name}`).toBe(false)
      expect(['gauge', 'counter']).toContain(rest)
      types.set(name, rest)
    }
    if (comment !== undefined) continue
    const [, metric = '', labels = '', value = ''] =
      /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)$/.exec(
        line,
      ) ?? []
    expect(metric, line).not.toBe('')
    expect(types.has(metric), `${metric} before its type`).toBe(true)
    expect(Number.isFinite(Number(value)), line).toBe(true)
    const pairs = labels.matchAll(/([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"/g)
    const named = [...pairs].map(([, label = '', said = '']) => [label, unescaped(said)] as const)
    samples.push({ name: metric, labels: Object.fromEntries(named), value: Number(value) })
  }
  const keys = samples.map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`)
  expect(new Set(keys).size).toBe(keys.length)
  return { samples, types }
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(["\\n])/g, (_, sign: string) => (sign === 'n' ? '\n' : sign))
}

function valueOf(
  samples: readonly Sample[],
  name: string,
  labels: Record<string, string>,
): number | undefined {
  return samples.find(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )?.value
}

describe('metrics', () => {
  test('metrics are served to viewers at both paths', async () => {
    const served = openConsole(db.url)
    for (const path of ['/metrics', '/v1/metrics']) {
      expect((await call(served, `GET ${path}`)).status).toBe(401)
      const answer = await call(served, `GET ${path}`, viewer)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('Content-Type')).toBe('text/plain; version=0.0.4; charset=utf-8')
      parse(answer.text)
    }
  })

  test('metrics report queues, workers and counters in the text format', async () => {
    const queue = randomUUID()
    await stint.enqueueMany(anything, [1, 2, 3], { queue })
    await givenWorker(db, { queues: { [queue]: 6 }, silentFor: '26 seconds' })
    await givenMinute(db, {
      queue,
      kind: 'k',
      ago: 1,
      started: 9,
      succeeded: 8,
      failed: 1,
      wait: { '150': 9 },
    })
    await db.query(`insert into stint.service (name, last_ok_at, took_ms) values ('days', now(), 3)`)
    const { samples, types } = parse((await call(openConsole(db.url), 'GET /metrics', viewer)).text)
    expect(valueOf(samples, 'stint_jobs', { queue, state: 'ready' })).toBe(3)
    expect(valueOf(samples, 'stint_queue_slots', { queue })).toBe(6)
    expect(valueOf(samples, 'stint_jobs_succeeded_total', { queue, kind: 'k' })).toBe(8)
    expect(valueOf(samples, 'stint_attempts_failed_total', { queue, kind: 'k' })).toBe(1)
    expect(valueOf(samples, 'stint_queue_wait_seconds', { queue, quantile: '0.95' })).toBeGreaterThan(0)
    expect(valueOf(samples, 'stint_workers', { status: 'late' })).toBe(1)
    expect(valueOf(samples, 'stint_service_ok_age_seconds', { service: 'days' })).toBeGreaterThanOrEqual(0)
    expect(valueOf(samples, 'stint_console_viewers', {})).toBe(0)
    expect(types.get('stint_jobs_succeeded_total')).toBe('counter')
  })

  test('metrics report the tokens of rates, and a total that never falls', async () => {
    await db.query(
      `insert into stint.rate (name, by_key, tokens, period_ms, burst)
       values ('one', false, 1, 3600000, 10), ('keyed', true, 1, 3600000, 10)`,
    )
    const served = openConsole(db.url)
    await stint.limit('one').take(4)
    await stint.limit('one').tryTake(7)
    await stint.limit('one').take(1)
    for (const key of ['a', 'b']) await stint.limit('keyed').take(3, { key })
    const { samples, types } = parse((await call(served, 'GET /metrics', viewer)).text)
    expect(valueOf(samples, 'stint_rate_tokens', { rate: 'one' })).toBeCloseTo(5, 1)
    expect(valueOf(samples, 'stint_rate_tokens', { rate: 'keyed' })).toBeUndefined()
    expect(valueOf(samples, 'stint_rate_taken_total', { rate: 'one' })).toBe(5)
    expect(valueOf(samples, 'stint_rate_taken_total', { rate: 'keyed' })).toBe(6)
    expect(valueOf(samples, 'stint_rate_refused_total', { rate: 'one' })).toBe(1)
    expect(types.get('stint_rate_taken_total')).toBe('counter')
    const own = new Stint({ connection: db.url })
    const taken = async (): Promise<number | undefined> =>
      (await own.view.rateTotals()).find(({ name }) => name === 'one')?.taken
    expect(await taken()).toBe(5)
    await stint.limit('one').correct({ taken: 2, used: 0 })
    expect(await taken()).toBe(5)
    await own.close()
  })

  test('metrics report how long claims took by way, and the keys in rings, as heartbeats tell them', async () => {
    const [plain, keyed, limited] = [newJob('plain'), newJob('keyed'), newJob('limited')]
    const limit = defineLimit({ name: newName('limit'), covers: [{ queue: limited.queue }], max: 5 })
    const { opened, open } = gate()
    const queues = { [plain.queue]: 1, [keyed.queue]: { concurrency: 1, prefetch: 0 }, [limited.queue]: 1 }
    await startWorker({ db, stint }, { queues, flow: [limit], lease: '3s' }, (one) =>
      one
        .handle(plain, () => undefined)
        .handle(keyed, () => opened)
        .handle(limited, () => undefined),
    )
    // What another role has written.
    const odd = await givenWorker(db, { queues: { [plain.queue]: 1 } })
    await db.query(
      `update stint.worker set claims = '{"ways": {"plain": {"x": 1, "131": -4, "9999": 3}, "other": 5}, "lanes": [1]}' where id = $1`,
      [odd],
    )
    await stint.enqueue(plain, 1)
    await stint.enqueue(limited, 1)
    for (const key of ['a', 'b', 'c', 'd']) await stint.enqueue(keyed, 1, { key })
    const served = openConsole(db.url)
    await eventually(async () => {
      const { samples } = parse((await call(served, 'GET /metrics', viewer)).text)
      for (const way of ['plain', 'lanes', 'limited'])
        for (const quantile of ['0.5', '0.99'])
          expect(valueOf(samples, 'stint_claim_seconds', { way, quantile }), way).toBeGreaterThan(0)
      expect(valueOf(samples, 'stint_ring_lanes', { queue: keyed.queue })).toBeGreaterThanOrEqual(3)
      expect(valueOf(samples, 'stint_ring_lanes', { queue: plain.queue })).toBeUndefined()
    })
    open(undefined)
    const narrowed = openConsole(db.url, {
      auth: () => ({
        actor: 'ana',
        role: 'viewer',
        can: (_, of) => of?.queue === undefined || of.queue === keyed.queue,
      }),
    })
    const { samples } = parse((await call(narrowed, 'GET /metrics')).text)
    expect(valueOf(samples, 'stint_ring_lanes', { queue: keyed.queue })).toBeDefined()
    expect(valueOf(samples, 'stint_claim_seconds', { way: 'lanes' })).toBeUndefined()
  })

  test('metrics only grow, in whichever order processes write their minutes', async () => {
    const queue = randomUUID()
    const own = new Stint({ connection: db.url })
    const total = async (): Promise<number> =>
      (await own.view.totals()).find((one) => one.queue === queue)?.succeeded ?? 0
    const process = randomUUID()
    await givenMinute(db, { queue, ago: 5, process, succeeded: 10 })
    expect(await total()).toBe(10)
    await givenMinute(db, { queue, ago: 0, succeeded: 5 })
    expect(await total()).toBe(15)
    // The same process writes its minute again, with a larger count.
    await db.query('update stint.stat_minute set succeeded = 12, flush = 2 where process = $1', [process])
    expect(await total()).toBe(17)
    await own.close()
  })

  test('metrics escape the characters of names', () => {
    const name = 'a"b\\c\nd'
    const totals = { queue: name, kind: name, ...zeros, succeeded: 1 }
    const facts = {
      queues: {
        queues: [],
        hours: new Map(),
        workers: [],
        leader: null,
        services: [],
        claims: { ways: {}, lanes: new Map() },
        asOf: new Date(),
      },
      totals: [totals],
      pressures: [],
      limits: [],
      rateTotals: [],
      breakers: [],
      console: { viewers: 0, waits: 0, dropped: 0, refused: 0 },
    }
    const text = metricsText(facts, { can: () => true })
    expect(valueOf(parse(text).samples, 'stint_jobs_succeeded_total', { queue: name, kind: name })).toBe(1)
  })
})

const zeros = {
  enqueued: 0,
  started: 0,
  succeeded: 0,
  failed: 0,
  dead: 0,
  cancelled: 0,
  snoozed: 0,
  released: 0,
  moved: 0,
  crashed: 0,
  leaseExpired: 0,
  refused: 0,
}
