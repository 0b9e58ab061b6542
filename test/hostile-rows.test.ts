import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operationJob } from '../src/operations/contract.ts'
import { defineJob, fileBlobStore, Stint } from '../src/entry/index.ts'
import { Worker } from '../src/entry/worker.ts'
import type { Console } from '../src/entry/server.ts'
import { nextId } from '../src/intake/ids.ts'
import { consoleOpenApi, createConsoleWithin } from '../src/server/console.ts'
import { usualServices } from '../src/upkeep/services.ts'
import { call, patient, tokens } from './console/scene.ts'
import type { Answer, CallOptions } from './console/scene.ts'
import { runStint } from './support/cli.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { growingWait } from './support/eventually.ts'
import { form } from './support/form.ts'
import {
  callableFunctions,
  createTry,
  dropLaterConstraints,
  insertOf,
  isWritable,
  tryWrites,
  writableColumns,
} from './support/hostile-catalog.ts'
import type { CallableFunction, WritableColumn, Write } from './support/hostile-catalog.ts'
import {
  afterwards,
  describePlanted,
  hostileRows,
  isServed,
  kinds,
  lostWorker,
  neighboursIn,
  operationOfJobs,
  replied,
  scheduleOfFires,
  usualRow,
} from './support/hostile-rows.ts'
import type { Planted, Row } from './support/hostile-rows.ts'
import { hostileMembers, hostileValues, usualValue } from './support/hostile-values.ts'
import type { Hostile } from './support/hostile-values.ts'
import { upkeepByHand } from './support/history.ts'
import { TestWorker } from './support/workers.ts'

/*
 * Every column and function argument that a producer or an operator can write, with values that no honest program
 * writes, against everything that reads them. The tests of this file go on from one another: at the door, in the
 * hands of a worker, on every screen, in every command, under upkeep, and out again.
 *
 * What can be written is asked of the database, so a new column is tried without a new line here. Rows are planted by
 * the owner, without the constraints that came after the first release: an older release may have stored them.
 */

const roles = ['stint_producer', 'stint_operator'] as const
/** Served by the worker beside the queues of the hostile jobs. */
const byFunction = 'by.function'
/** Without any progress for so long, nothing more is to come. */
const quietMs = 5_000
/** For so long it is found out which values are to blame. Nothing of it is spent where none is. */
const narrowMs = form === 'short' ? 60_000 : 540_000
const atOnce = 4

let db: TestDatabase
let owner: pg.Client
let stint: Stint
let served: Console
let blobFolder: string
let columns: WritableColumn[]
let functions: CallableFunction[]
const types = new Map<string, string>()
const consoleErrors = new Map<string, unknown>()
const strayErrors: string[] = []
const noteStray = (error: unknown): void => void strayErrors.push(lineOf(error))

const query = async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> =>
  (await owner.query<Row>(text, values)).rows

beforeAll(async () => {
  process.on('unhandledRejection', noteStray).on('uncaughtException', noteStray)
  db = await createTestDatabase()
  blobFolder = mkdtempSync(join(tmpdir(), 'stint-hostile-'))
  stint = new Stint({ connection: db.url })
  await stint.migrate({ roles: true })
  owner = new pg.Client(db.url)
  await owner.connect()
  await createTry(query)
  columns = await writableColumns(query, roles)
  functions = await callableFunctions(query, roles)
  for (const { table, column, type } of columns) types.set(`${table}.${column}`, type)
  served = createConsoleWithin(patient, {
    connection: db.url,
    tokens: Object.values(tokens).map(({ line }) => line),
    acceptUnknownKinds: true,
    onError: (error, { requestId }) => consoleErrors.set(requestId, error),
  })
})
afterAll(async () => {
  process.off('unhandledRejection', noteStray).off('uncaughtException', noteStray)
  await served?.close()
  await stint?.close()
  await owner?.end()
  rmSync(blobFolder, { recursive: true, force: true })
  await db?.drop()
})

/** All that is wrong, by reader: one run tells everything. */
class Findings {
  readonly #found = new Map<string, Map<string, string>>()

  get size(): number {
    return [...this.#found.values()].reduce((sum, { size }) => sum + size, 0)
  }

  add(reader: string, about: string, problem: unknown): void {
    const known = this.#found.get(reader) ?? new Map<string, string>()
    this.#found.set(reader, known.set(about, lineOf(problem)))
  }

  /** Fails with the whole list, where there is one. */
  expectNone(): void {
    const lines = [...this.#found].flatMap(([reader, found]) => [
      `${reader}: ${found.size}`,
      ...[...found].map(([about, problem]) => `  ${about}: ${problem}`),
    ])
    if (lines.length > 0) expect.fail(`Hostile values get in the way.\n${lines.join('\n')}`)
  }
}

function lineOf(problem: unknown): string {
  const text = problem instanceof Error ? (problem.stack ?? problem.message) : String(problem)
  const [first = '', second = ''] = text.split('\n')
  return `${first} ${second.trim()}`
    .replaceAll(/[^\x20-\x7e]/g, '?')
    .trim()
    .slice(0, 220)
}

async function inParallel<Item>(items: readonly Item[], act: (item: Item) => Promise<void>): Promise<void> {
  const rest = items.values()
  const lane = async (): Promise<void> => {
    for (const item of rest) await act(item)
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
}

test('every column and argument that a producer or an operator can write has hostile values', () => {
  const findings = new Findings()
  for (const column of columns.filter(isWritable))
    if (hostileValues(column.type) === undefined)
      findings.add('no hostile values', `column ${column.column} of table ${column.table}`, column.type)
  for (const { name, args } of functions)
    for (const { name: argument, type } of args)
      if (hostileValues(type) === undefined)
        findings.add('no hostile values', `argument ${argument} of ${name}()`, type)
  findings.expectNone()
  expect(columns.filter(isWritable).length).toBeGreaterThan(100)
  expect(functions.map(({ name }) => name)).toContain('enqueue_jobs')
})

/** Of values that take long to send, in the short form only those of the role that is trusted least. */
function valuesAtDoor(role: string, { type }: WritableColumn): Hostile[] {
  const isAll = form !== 'short' || role === 'stint_producer'
  return (hostileValues(type) ?? []).filter(({ isLarge }) => isAll || !isLarge)
}

/** What a door says to a value that it does not take: wrong data, a broken constraint, beyond a limit of Postgres. */
const isRefusal = (said: string): boolean => /^(22|23|54|ST)/.test(said)

test('a hostile value that a role writes is refused as such, or stored', async () => {
  const findings = new Findings()
  for (const role of roles) {
    const inserts = columns
      .filter(({ insertBy }) => insertBy.includes(role))
      .flatMap((column) => {
        const own = new Set(
          columns
            .filter((one) => one.table === column.table && one.insertBy.includes(role))
            .map((one) => one.column),
        )
        return valuesAtDoor(role, column).map((value) => {
          const usual = Object.entries(usualRow(column.table, columns)).filter(([name]) => own.has(name))
          const row = { ...Object.fromEntries(usual), [column.column]: value.text }
          return {
            about: `insert ${column.table}.${column.column} = ${value.label}`,
            ...insertOf(column.table, row, types),
          }
        })
      })
    const updates = columns
      .filter(({ updateBy }) => updateBy.includes(role))
      .flatMap((column) => {
        const row = usualRow(column.table, columns)
        const [key = ''] = Object.keys(row)
        const insert = insertOf(column.table, row, types)
        const given = { ...insert, statement: `${insert.statement} on conflict do nothing` }
        return valuesAtDoor(role, column).map((value) => ({
          about: `update ${column.table}.${column.column} = ${value.label}`,
          given,
          statement: `update stint.${column.table} set "${column.column}" = ($1)[1]::${column.type} where "${key}"::text = ($1)[2]`,
          values: [value.text, row[key] ?? null],
        }))
      })
    await query('begin')
    try {
      const given = new Set(updates.map((one) => one.given))
      for (const said of await tryWrites(query, [...given]))
        if (said !== 'stored') findings.add(role, 'usual row', said)
      await query(`set local role ${role}`)
      const all: (Write & { about: string })[] = [...inserts, ...updates]
      const said = await tryWrites(query, all)
      for (const [at, { about }] of all.entries()) {
        const answer = said[at] ?? ''
        if (answer !== 'stored' && !isRefusal(answer)) findings.add(role, about, answer)
      }
    } finally {
      await query('rollback')
    }
  }
  findings.expectNone()
})

/** Members of the JSON that functions take, with the type that each is read as. */
const members: Readonly<Record<string, { usual: string; types: Readonly<Record<string, string>> }>> = {
  'enqueue_jobs.jobs': {
    usual: `[{"id":"$id","queue":"${byFunction}","kind":"${kinds.good}","input":{}}]`,
    types: {
      ...{ id: 'uuid', queue: 'text', kind: 'text', key: 'text', priority: 'smallint', version: 'smallint' },
      ...{
        maxAttempts: 'integer',
        runAt: 'timestamp with time zone',
        delayMs: 'double precision',
        input: 'jsonb',
      },
      ...{
        inputBlob: 'text',
        inputDigest: 'text',
        correlationId: 'text',
        traceparent: 'text',
        tracestate: 'text',
      },
      ...{
        parentId: 'uuid',
        flowId: 'uuid',
        deadlineAt: 'timestamp with time zone',
        deadlineMs: 'double precision',
      },
      ...{ tokens: 'jsonb', options: 'jsonb', unique: 'jsonb', idempotencyKey: 'text' },
      ...{ idempotencyForMs: 'double precision', 'unique.key': 'text', 'unique.forMs': 'double precision' },
      ...{ 'unique.until': 'text', 'unique.onConflict': 'text' },
    },
  },
  'enqueue.options': {
    usual: '{}',
    types: {
      ...{
        runAt: 'timestamp with time zone',
        delay: 'interval',
        priority: 'smallint',
        key: 'text',
        attempts: 'integer',
      },
      ...{
        timeout: 'interval',
        version: 'smallint',
        deadline: 'timestamp with time zone',
        correlationId: 'text',
      },
      ...{ traceparent: 'text', tracestate: 'text', idempotencyKey: 'text', idempotencyFor: 'interval' },
      ...{
        search: 'jsonb',
        unique: 'jsonb',
        'search.a': 'text',
        'unique.key': 'text',
        'unique.for': 'interval',
      },
      ...{ 'unique.until': 'text', 'unique.onConflict': 'text' },
    },
  },
  'note_enqueued.rows': {
    usual: `[{"minute":"$minute","queue":"${byFunction}","kind":"${kinds.good}","enqueued":1}]`,
    types: { minute: 'timestamp with time zone', queue: 'text', kind: 'text', enqueued: 'bigint' },
  },
}

const usualArguments: Readonly<Record<string, string>> = {
  ...{ 'enqueue.queue': byFunction, 'enqueue.kind': kinds.good, 'ensure_partitions.days': '1' },
  'note_enqueued.process': '018f3a10-0000-7000-8000-00000000000a',
}

function usualArgument(path: string, type: string): string {
  const usual = members[path]?.usual ?? usualArguments[path] ?? usualValue(type)
  const minute = new Date(Math.floor(Date.now() / 60_000 - 90) * 60_000).toISOString()
  return usual.replace('$id', nextId()).replace('$minute', minute)
}

/** A call for every hostile value of every argument, and of every member of JSON. */
function hostileCalls({ name, args }: CallableFunction): (Write & { about: string })[] {
  const casts = args.map(({ type }, at) => `($1)[${at + 1}]::${type}`)
  const statement = `select * from stint.${name}(${casts.join(', ')})`
  const given = (place: number, text: string | null): (string | null)[] =>
    args.map(({ name: argument, type }, at) =>
      at === place ? text : usualArgument(`${name}.${argument}`, type),
    )
  return args.flatMap(({ name: argument, type }, place) => {
    const path = `${name}.${argument}`
    const isTried = ({ isLarge }: { isLarge: boolean }): boolean => form !== 'short' || !isLarge
    const whole = (hostileValues(type) ?? []).filter(isTried).map(({ label, text }) => ({
      ...{ about: `${path} = ${label}`, statement, values: given(place, text) },
    }))
    const parts = Object.entries(members[path]?.types ?? {}).flatMap(([member, memberType]) =>
      hostileMembers(memberType)
        .filter(isTried)
        .map(({ label, json }) => ({
          about: `${path} ${member} = ${label}`,
          statement,
          values: given(place, withMember(usualArgument(path, type), member, json)),
        })),
    )
    return [...whole, ...parts]
  })
}

/** Adds a member to the object, or to the only object of the list; `unique.key` to one inside of it. */
function withMember(usual: string, member: string, json: string): string {
  const [outer = '', inner] = member.split('.')
  const text = inner === undefined ? json : `{"${inner}":${json}}`
  // The last of two members of one name counts.
  return usual.replace(
    /\}(\]?)$/,
    (_, end: string) => `${usual.includes('{}') && usual.length < 3 ? '' : ','}"${outer}":${text}}${end}`,
  )
}

/** Which call stored a job, by its id. */
const byCall = new Map<string, string>()

test('a function that a role may call refuses a hostile argument as such, or stores it', async () => {
  const findings = new Findings()
  // A member that a function reads and this file does not know would go untested.
  const [one] = await query<{ text: string }>(
    `select string_agg(pg_get_functiondef(oid), '') as text from pg_proc
      where pronamespace = 'stint'::regnamespace and proname in ('enqueue_one', 'enqueue_jobs')`,
  )
  const read = new Set(
    [...(one?.text ?? '').matchAll(/wanted (?:->>?|\?) '(\w+)'/g)].map(([, name = '']) => name),
  )
  expect(read.size).toBeGreaterThan(15)
  for (const name of read)
    if (members['enqueue_jobs.jobs']?.types[name] === undefined)
      findings.add('no hostile values', `member ${name} of enqueue_jobs()`, 'unknown')

  await query(`set statement_timeout = '5s'`)
  for (const fn of functions) {
    const [role = ''] = fn.callableBy
    await query(`set role ${role}`)
    const calls = hostileCalls(fn)
    const takesJson = fn.args.some(({ type }) => type === 'jsonb')
    // What a number makes a function do may take for ever: each by itself, so that the others are answered.
    for (const batch of takesJson ? [calls] : calls.map((one) => [one])) {
      const said = await tryWrites(query, batch)
      for (const [at, { about, values }] of batch.entries()) {
        const answer = said[at] ?? ''
        if (answer !== 'stored' && !isRefusal(answer))
          findings.add(`${role} calls ${fn.name}()`, about, answer)
        const [, id] = /"id":"([\w-]{36})"/.exec(values[0] ?? '') ?? []
        if (answer === 'stored' && id !== undefined) byCall.set(id, about)
      }
    }
    await query('reset role')
  }
  await query('reset statement_timeout')
  // These ids are planted below, where more is known of the rows.
  const ids = hostileValues('uuid')?.flatMap(({ text }) => text ?? [])
  await query(`delete from stint.job where id = any($1::uuid[])`, [ids])
  findings.expectNone()
})

/** A usual row beside hostile ones. */
type Beside = Pick<Planted, 'table' | 'row' | 'circumstance'>

/** Plants rows without the constraints that came later, and returns those that are stored. */
async function plant(rows: readonly Planted[], beside: readonly Beside[]): Promise<Planted[]> {
  const putBack = await dropLaterConstraints(query)
  await query('begin')
  const writes = [...rows, ...beside].map((one) => ({
    ...insertOf(one.table, one.row, types),
    after: afterwards(one),
  }))
  const said = await tryWrites(query, writes)
  await query('commit')
  await putBack()
  for (const [at, { table }] of beside.entries())
    expect(said[rows.length + at], `usual ${table}`).toBe('stored')
  for (const [at, row] of rows.entries()) {
    const answer = said[at] ?? ''
    if (answer !== 'stored' && !isRefusal(answer)) throw new Error(`${describePlanted(row)}: ${answer}`)
  }
  return rows.filter((_, at) => said[at] === 'stored')
}

const hostileJob = defineJob({ kind: kinds.hostile, queue: 'asleep', retry: { backoff: () => 1 } })
const flakyJob = defineJob({ kind: kinds.flaky, queue: 'asleep', retry: { backoff: () => 1 } })
const goodJob = defineJob({ kind: kinds.good, queue: byFunction, retry: { backoff: () => 1 } })
const childJob = defineJob({ kind: 'hostile.child', queue: 'children' })

async function startWorker(queues: readonly string[]): Promise<TestWorker> {
  const one = new Worker({
    ...{ connection: db.url, log: false, drain: '5s', lease: '10s', pollFloor: '250ms', sweepEvery: '250ms' },
    ...{ queues: Object.fromEntries(queues.map((name) => [name, 4])), health: { port: 0 } },
    blobs: { store: fileBlobStore({ dir: blobFolder }) },
  })
  one.handle(goodJob, () => 'done')
  one.handle(hostileJob, async (_, ctx) => {
    ctx.log.info('seen', {
      key: ctx.key,
      correlationId: ctx.correlationId,
      runAt: ctx.runAt,
      last: ctx.lastProgress,
    })
    await ctx.progress(50, 'half')
    await ctx.enqueue(childJob, {})
    return { traceparent: ctx.traceparent, tracestate: ctx.tracestate }
  })
  const failed = new Set<string>()
  one.handle(flakyJob, (_, ctx) => {
    if (failed.has(ctx.jobId)) return 'done'
    failed.add(ctx.jobId)
    throw new Error('the first time')
  })
  const started = new TestWorker(one)
  await one.start()
  return started
}

interface Left extends Record<string, unknown> {
  id: string
  queue: string
  kind: string
  why: string
}

/** Jobs that a worker of these queues should have ended: not those whose time is to come, or that it does not know. */
function leftIn(queues: readonly string[]): Promise<Left[]> {
  return query<Left>(
    `select id, queue, kind, format('still %s, attempt %s, run_at %s', state, attempt, run_at) as why
       from stint.job
      where queue = any($1)
        and kind = any($2)
        and version <= 1
        and state <> 'waiting'
        and (state not in ('scheduled', 'retrying') or run_at < now())`,
    [queues, Object.values(kinds)],
  )
}

interface Problem {
  reader: string
  about: string
  problem: unknown
}

/** Lets a worker meet hostile jobs, with good ones in the same queues, and says what is wrong when it is quiet. */
async function meet(rows: readonly Planted[], more: readonly string[] = []): Promise<Problem[]> {
  const problems: Problem[] = []
  strayErrors.length = 0
  const queues = [...new Set(rows.map(({ queue }) => queue)), ...more]
  const neighbours = queues.flatMap((name) => neighboursIn(name).map((one) => ({ table: 'job', ...one })))
  const met = await plant(rows, neighbours)
  const worker = await startWorker(queues)
  try {
    const { id: workerId, healthPort } = worker.worker
    let left = await leftIn(queues)
    let progressAt = performance.now()
    for (const wait = growingWait(); left.length > 0 && performance.now() - progressAt < quietMs;) {
      await wait()
      const now = await leftIn(queues)
      if (now.length !== left.length) progressAt = performance.now()
      left = now
    }
    const byId = new Map(met.map((row) => [row.id, row]))
    const byQueue = new Map(met.map((row) => [row.queue, row]))
    const nameOf = ({ id, queue }: Pick<Left, 'id' | 'queue'>): string => {
      const own = byId.get(id)
      const beside = byQueue.get(queue)
      if (own !== undefined) return describePlanted(own)
      if (beside !== undefined) return `beside ${describePlanted({ ...beside, circumstance: '' })}`
      return byCall.get(id) ?? queue
    }
    for (const one of left) {
      const isNeighbour = neighbours.some(({ row }) => row['id'] === one.id)
      problems.push({ reader: isNeighbour ? 'neighbours' : 'worker', about: nameOf(one), problem: one.why })
    }
    for (const path of ['healthz', 'readyz']) {
      const health = await fetch(`http://127.0.0.1:${String(healthPort)}/${path}`)
      if (!health.ok) problems.push({ reader: 'health', about: path, problem: await health.text() })
    }
    if (worker.worker.id !== workerId || worker.told('stopping').length > 0)
      problems.push({
        reader: 'worker',
        about: `beside ${queues.join().slice(0, 60)}`,
        problem: 'it gave up or began anew',
      })
    // A row that could not be started says so.
    const started = new Set(worker.told('started').map(({ id }) => id))
    const dead = await query<{ id: string; queue: string; reason: string; error: unknown }>(
      `select id, queue, reason, error from stint.dead where queue = any($1)`,
      [queues],
    )
    for (const one of dead)
      if (!started.has(one.id) && byId.has(one.id) && !unstarted.has(one.reason))
        problems.push({
          reader: 'dead without a start',
          about: nameOf(one),
          problem: `${one.reason} ${JSON.stringify(one.error)}`,
        })
  } finally {
    await worker.worker.stop({ drain: 0 }).catch((error: unknown) => {
      problems.push({ reader: 'worker', about: `beside ${queues.join().slice(0, 60)}`, problem: error })
    })
  }
  const [first] = met
  const about =
    groupsOf(met).length > 0 || first === undefined ? queues.join().slice(0, 60) : describePlanted(first)
  // After the stop, for then the numbers are written.
  for (const { what, error, jobIds } of worker.told('trouble'))
    if (jobIds === undefined)
      problems.push({ reader: `trouble of the worker: ${what}`, about, problem: error })
  for (const error of strayErrors) problems.push({ reader: 'would end the process', about, problem: error })
  if (problems.length > 0) await forget(queues, met)
  return problems
}

const unstarted: ReadonlySet<string> = new Set([
  'invalid-row',
  'expired',
  'quarantined',
  'discarded-contract',
])

/** Removes jobs as nobody else may, so that others can be tried alone. */
async function forget(queues: readonly string[], rows: readonly Planted[]): Promise<void> {
  const ids = rows.map(({ id }) => id)
  for (const table of ['job', 'dead', 'finished'])
    await query(`delete from stint.${table} where queue = any($1) or id = any($2::uuid[])`, [queues, ids])
}

test('a worker goes on beside hostile jobs, and each of these comes to its own end', async () => {
  const findings = new Findings()
  const endAt = performance.now() + narrowMs
  await query(
    `insert into stint.worker (id, lease_until, lost_at) values ($1, now() - interval '1 hour', now())`,
    [lostWorker],
  )
  /** Finds out which values are to blame: all at once where none is, else by column, then one by one. */
  const narrow = async (rows: readonly Planted[], more: readonly string[]): Promise<void> => {
    const problems = await meet(rows, more)
    if (problems.length === 0) return
    const before = findings.size
    const groups = performance.now() > endAt ? [] : groupsOf(rows)
    if (groups.length > 0 || (rows.length > 0 && more.length > 0)) {
      for (const name of more) await narrow([], [name])
      for (const group of groups) await narrow(group, [])
    }
    if (findings.size === before)
      for (const { reader, about, problem } of problems) findings.add(reader, about, problem)
  }
  await narrow(hostileRows(columns).filter(isServed), [byFunction])
  findings.expectNone()
}, 600_000)

/** By column, then by value; none where it is one value. */
function groupsOf(rows: readonly Planted[]): Planted[][] {
  for (const nameOf of [({ column }: Planted) => column, ({ queue }: Planted) => queue]) {
    const groups = new Map<string, Planted[]>()
    for (const row of rows) groups.set(nameOf(row), [...(groups.get(nameOf(row)) ?? []), row])
    if (groups.size > 1) return [...groups.values()]
  }
  return []
}
