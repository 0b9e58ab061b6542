import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operationJob } from '../src/operations/contract.ts'
import { defineJob, fileBlobStore, Stint } from '../src/index.ts'
import { Worker } from '../src/worker.ts'
import type { Console } from '../src/server.ts'
import { nextId } from '../src/jobs/new/ids.ts'
import { consoleOpenApi, createConsoleWithin } from '../src/server/console.ts'
import { usualServices } from '../src/worker/upkeep/services.ts'
import { call, patient, tokens } from './console/scene.ts'
import type { Answer, CallOptions } from './console/scene.ts'
import { runStint } from './support/cli.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { growingWait } from './support/eventually.ts'
import { Findings, lineOf } from './support/findings.ts'
import { form } from './support/form.ts'
import { byFunction, hostileCalls, jsonMembers } from './support/hostile-calls.ts'
import {
  addConstraints,
  callableFunctions,
  createTry,
  dropConstraints,
  laterConstraints,
  insertOf,
  isWritable,
  tryWrites,
  writableColumns,
} from './support/hostile-catalog.ts'
import type { CallableFunction, LaterConstraint, WritableColumn, Write } from './support/hostile-catalog.ts'
import {
  afterwards,
  describePlanted,
  dueSchedule,
  dueSchedules,
  hostileRows,
  isServed,
  kinds,
  lostWorker,
  neighboursIn,
  operationOfJobs,
  replied,
  scheduleOfFires,
  usualRow,
} from './support/hostile-planted.ts'
import type { Planted } from './support/hostile-planted.ts'
import { hostileValues } from './support/hostile-values.ts'
import type { Hostile } from './support/hostile-values.ts'
import { commandsAbout, lists, looksAt, segment } from './support/hostile-looks.ts'
import { upkeepByHand } from './support/history.ts'
import { patienceMs } from './support/patience.ts'
import { TestWorker } from './support/workers.ts'

/*
 * Every column and function argument that a producer or an operator can write, with values that no honest program writes,
 * against everything that reads them. The tests of this file build on one another: the values are written, then met by a
 * worker, every screen, every command and upkeep, and removed.
 *
 * The writable columns are read from the database, so a new column is tested without a new line here. The owner plants
 * the rows without the constraints that came after the first release, because an older release may have stored them.
 */

const roles = ['stint_producer', 'stint_operator'] as const
/** Without progress for this long, nothing more is expected; long, because the machine may be busy. */
const quietMs = 20_000
/** The same once something is known to be wrong, and only the row at fault is searched. */
const narrowQuietMs = 5_000
/** The time for the search for the values at fault; none of it is used where there is none. */
const narrowMs = form === 'short' ? 60_000 : 540_000
const atOnce = 4

let db: TestDatabase
let owner: pg.Client
let stint: Stint
let served: Console
let blobFolder: string
let columns: WritableColumn[]
let functions: CallableFunction[]
let later: LaterConstraint[]
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
  later = await laterConstraints(query)
  for (const { table, column, type } of columns) types.set(`${table}.${column}`, type)
  served = createConsoleWithin(
    { ...patient, timeout: '5s' },
    {
      connection: db.url,
      tokens: Object.values(tokens).map(({ line }) => line),
      acceptUnknownKinds: true,
      onError: (error, { requestId }) => consoleErrors.set(requestId, error),
    },
  )
})
afterAll(async () => {
  process.off('unhandledRejection', noteStray).off('uncaughtException', noteStray)
  await served.close()
  await stint.close()
  await owner.end()
  rmSync(blobFolder, { recursive: true, force: true })
  await db.drop()
})

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

/** In the short form, large values only for the least trusted role, because they take long to send. */
function valuesAtDoor(role: string, { type }: WritableColumn): Hostile[] {
  const isAll = form !== 'short' || role === 'stint_producer'
  return (hostileValues(type) ?? []).filter(({ isLarge }) => isAll || !isLarge)
}

/** Codes of a refused value: wrong data, a violated constraint, a limit of Postgres. */
const isRefusal = (said: string): boolean => /^(22|23|54|ST)/.test(said)

test('a hostile value that a role writes is refused with a data error, or stored', async () => {
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

/** The call that stored a job, by the job's id. */
const byCall = new Map<string, string>()

test('a function that a role may call refuses a hostile argument with a data error, or stores it', async () => {
  const findings = new Findings()
  // A member that a function reads but this file does not list would not be tested.
  const [one] = await query<{ text: string }>(
    `select string_agg(pg_get_functiondef(oid), '') as text from pg_proc
      where pronamespace = 'stint'::regnamespace and proname in ('enqueue_one', 'enqueue_jobs')`,
  )
  const read = new Set(
    [...(one?.text ?? '').matchAll(/wanted (?:->>?|\?) '(\w+)'/g)].map(([, name = '']) => name),
  )
  expect(read.size).toBeGreaterThan(15)
  for (const name of read)
    if (jsonMembers['enqueue_jobs.jobs']?.types[name] === undefined)
      findings.add('no hostile values', `member ${name} of enqueue_jobs()`, 'unknown')

  await query(`set statement_timeout = '5s'`)
  for (const fn of functions) {
    const [role = ''] = fn.callableBy
    await query(`set role ${role}`)
    const calls = hostileCalls(fn)
    const takesJson = fn.args.some(({ type }) => type === 'jsonb')
    // A number may make a function run for ever: each call is alone, so that the others are answered.
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

/** An ordinary row beside hostile ones. */
type Beside = Pick<Planted, 'table' | 'row' | 'circumstance'>

/** Plants rows as older releases could store them, then those that no release could. Returns the stored ones. */
async function plant(rows: readonly Planted[], beside: readonly Beside[]): Promise<Planted[]> {
  const [valid, open] = [later.filter(({ isValid }) => isValid), later.filter(({ isValid }) => !isValid)]
  await dropConstraints(query, later)
  await addConstraints(query, valid)
  const usual = await insert(beside)
  const said = await insert(rows)
  const refused = rows.filter((_, at) => said[at] !== 'stored')
  await dropConstraints(query, valid)
  const barred = await insert(refused)
  // As after the upgrade that added the constraints: old rows stay, and new writes have to pass.
  await addConstraints(query, open)
  for (const [at, { table }] of beside.entries()) expect(usual[at], `usual ${table}`).toBe('stored')
  const stored = [
    ...rows.filter((_, at) => said[at] === 'stored'),
    ...refused.filter((_, at) => barred[at] === 'stored').map((row) => ({ ...row, isBarred: true })),
  ]
  // Otherwise something else keeps them out, and nothing is tested.
  if (rows.length > 100) expect(stored.length).toBeGreaterThan(0.75 * rows.length)
  return stored
}

/** Tries to insert each row, and returns for each that it is stored, or why not. */
async function insert(rows: readonly Beside[]): Promise<string[]> {
  const writes = rows.map((one) => ({ ...insertOf(one.table, one.row, types), after: afterwards(one) }))
  const said = await tryWrites(query, writes)
  for (const [at, answer] of said.entries())
    if (answer !== 'stored' && !isRefusal(answer))
      throw new Error(`${JSON.stringify(rows[at]).slice(0, 500)}: ${answer}`)
  return said
}

const hostileJob = defineJob({ kind: kinds.hostile, queue: 'asleep', retry: { backoff: () => 1 } })
const flakyJob = defineJob({ kind: kinds.flaky, queue: 'asleep', retry: { backoff: () => 1 } })
const goodJob = defineJob({ kind: kinds.good, queue: byFunction, retry: { backoff: () => 1 } })
const childJob = defineJob({ kind: 'hostile.child', queue: 'children' })

async function startWorker(queues: readonly string[]): Promise<TestWorker> {
  const one = new Worker({
    connection: db.url,
    log: false,
    drain: '5s',
    lease: '10s',
    pollFloor: '250ms',
    sweepEvery: '250ms',
    queues: Object.fromEntries(queues.map((name) => [name, 4])),
    health: { port: 0 },
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

/** Jobs that a worker of these queues should have ended: not those that are due later or of an unknown kind. */
function leftIn(queues: readonly string[]): Promise<Left[]> {
  return query<Left>(
    `select id, queue, kind, 'still ' || state as why
       from stint.job
      where queue = any($1)
        and kind = any($2)
        and version <= 1
        and state <> 'waiting'
        and (state not in ('scheduled', 'retrying') or run_at < now())`,
    [queues, Object.values(kinds)],
  )
}

/** Repeats the question until nothing is left, or nothing has changed for a while. */
async function whenQuiet<Item>(ask: () => Promise<Item[]>, forMs = quietMs): Promise<Item[]> {
  const wait = growingWait()
  let left = await ask()
  for (let progressAt = performance.now(); left.length > 0 && performance.now() - progressAt < forMs;) {
    await wait()
    const now = await ask()
    if (now.length !== left.length) progressAt = performance.now()
    left = now
  }
  return left
}

interface Problem {
  reader: string
  about: string
  problem: unknown
}

/** Runs a worker on hostile jobs, with good ones in the same queues, and returns what is wrong once it is quiet. */
async function meet(rows: readonly Planted[], more: readonly string[], forMs: number): Promise<Problem[]> {
  const problems: Problem[] = []
  strayErrors.length = 0
  const queues = [...new Set(rows.map(({ queue }) => queue)), ...more]
  const neighbours = queues.flatMap((name) => neighboursIn(name).map((one) => ({ table: 'job', ...one })))
  const met = await plant(rows, neighbours)
  const worker = await startWorker(queues)
  try {
    const { id: workerId, healthPort } = worker.worker
    const byId = new Map(met.map((row) => [row.id, row]))
    const left = await whenQuiet(
      async () => (await leftIn(queues)).filter(({ id }) => byId.get(id)?.isBarred !== true),
      forMs,
    )
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
    // A queue that held only a bad row pauses for a moment before its next claim reports it as healthy.
    const unwell = await whenQuiet(async () => {
      const answers = await Promise.all(
        ['healthz', 'readyz'].map(async (path) => {
          const health = await fetch(`http://127.0.0.1:${String(healthPort)}/${path}`)
          return { reader: 'health', about: path, problem: health.ok ? undefined : await health.text() }
        }),
      )
      return answers.filter(({ problem }) => problem !== undefined)
    })
    problems.push(...unwell)
    if (worker.worker.id !== workerId || worker.told('stopping').length > 0)
      problems.push({
        reader: 'worker',
        about: `beside ${queues.join().slice(0, 60)}`,
        problem: 'it gave up or began anew',
      })
    // A row that could not be started has a reason for it.
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
  // After the stop, because the figures are written then.
  for (const { what, error, jobIds } of worker.told('trouble'))
    if (jobIds === undefined && !isSeenByRows.test(what))
      problems.push({ reader: `trouble of the worker: ${what}`, about, problem: error })
  for (const error of strayErrors) problems.push({ reader: 'would end the process', about, problem: error })
  if (problems.length > 0) await forget(queues, met)
  return problems
}

/** If one of these keeps failing, jobs are left over; it may fail once to find the row at fault. */
const isSeenByRows = /^(claim|settle|survey|promote|sweep|reconcile|begun)\b/

const unstarted: ReadonlySet<string> = new Set([
  'invalid-row',
  'expired',
  'quarantined',
  'discarded-contract',
])

/** Removes jobs as the owner, so that others can be tested alone. */
async function forget(queues: readonly string[], rows: readonly Planted[]): Promise<void> {
  const ids = rows.map(({ id }) => id)
  for (const table of ['job', 'dead', 'finished'])
    await query(`delete from stint.${table} where queue = any($1) or id = any($2::uuid[])`, [queues, ids])
}

test('a worker goes on beside hostile jobs, and each hostile job reaches an end', async () => {
  const findings = new Findings()
  const endAt = performance.now() + narrowMs
  await query(
    `insert into stint.worker (id, lease_until, lost_at) values ($1, now() - interval '1 hour', now())`,
    [lostWorker],
  )
  /** Finds the values at fault: all at once where there is none, otherwise by column, then one by one. */
  const narrow = async (
    rows: readonly Planted[],
    more: readonly string[],
    forMs = narrowQuietMs,
  ): Promise<void> => {
    const problems = await meet(rows, more, forMs)
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
  await narrow(hostileRows(columns).filter(isServed), [byFunction], quietMs)
  findings.expectNone()
}, 600_000)

/** Groups by column, then by queue; none where there is a single group. */
function groupsOf(rows: readonly Planted[]): Planted[][] {
  for (const nameOf of [({ column }: Planted) => column, ({ queue }: Planted) => queue]) {
    const groups = new Map<string, Planted[]>()
    for (const row of rows) groups.set(nameOf(row), [...(groups.get(nameOf(row)) ?? []), row])
    if (groups.size > 1) return [...groups.values()]
  }
  return []
}

/** Hostile rows that the screens show. */
let shown: Planted[] = []
const shownIn = (...tables: string[]): Planted[] => shown.filter(({ table }) => tables.includes(table))
const jobsShown = (): Planted[] => shownIn('job', 'dead', 'finished')

async function ask(request: string, options: CallOptions = {}): Promise<Answer & { problem: string }> {
  const answer = await call(served, request, { token: tokens.admin.token, ...options })
  const { status, text, headers } = answer
  const thrown = consoleErrors.get(headers.get('X-Request-Id') ?? '')
  return { ...answer, problem: `${status} ${thrown === undefined ? text : lineOf(thrown)}` }
}

/** Pages through a list to its end. Returns the items that came before the first page that failed. */
async function pages(path: string, findings: Findings): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = []
  for (let cursor = ''; ;) {
    const next = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const { status, body, problem } = await ask(
      `GET ${path}${path.includes('?') ? '&' : '?'}limit=200${next}`,
    )
    if (status !== 200) {
      findings.add('lists', path, problem)
      return items
    }
    items.push(...(body['items'] as Record<string, unknown>[]))
    if (typeof body['next'] !== 'string' || body['next'] === cursor) return items
    cursor = body['next']
  }
}

test('every screen answers, and shows each hostile row', async () => {
  const findings = new Findings()
  const document = consoleOpenApi() as { paths: Record<string, Record<string, unknown>> }
  const routes = Object.keys(document.paths).filter((path) => 'get' in (document.paths[path] ?? {}))
  expect(Object.keys(looksAt([])).sort(), 'routes that read, and what is asked of them').toEqual(
    routes.sort(),
  )

  const rows = hostileRows(columns).filter(
    (row) =>
      !isServed(row) &&
      row.table !== 'gauge_refresh' &&
      (form !== 'short' || row.table === 'job' || !row.value.isLarge),
  )
  await forget(
    [],
    rows.filter(({ table, id }) => ['job', 'dead', 'finished'].includes(table) && id !== ''),
  )
  shown = await plant(rows, [
    { table: 'schedule', row: { ...usualRow('schedule', columns), name: scheduleOfFires }, circumstance: '' },
    {
      table: 'operation',
      row: { ...usualRow('operation', columns), id: operationOfJobs, state: 'aborted' },
      circumstance: '',
    },
  ])
  expect(jobsShown().length).toBeGreaterThan(500)

  for (const [route, looks] of Object.entries(looksAt(shown)))
    await inParallel(looks, async ({ path, about, isKnown }) => {
      const { status, problem } = await ask(`GET ${path}`)
      if (status >= 500 || (isKnown && status >= 400)) findings.add(`GET ${route}`, about, problem)
    })
  for (const [path, tables] of Object.entries(lists)) {
    const before = findings.size
    const seen = new Set((await pages(path, findings)).map((item) => item['id'] ?? item['name']))
    // Lists without a filter for them omit discarded dead letters and those edited into another job.
    const missing = shownIn(...tables).filter(
      ({ id, row, isBarred }) =>
        !seen.has(id) && !isBarred && row['discarded_at'] == null && row['replaced_by'] == null,
    )
    // After a page that failed, everything is missing.
    if (findings.size === before)
      for (const one of missing) findings.add(`not in the list ${path}`, describePlanted(one), 'missing')
  }
  await searchByIds(jobsShown(), findings)
  await readEvents(findings)
  findings.expectNone()
}, 300_000)

/** Finds jobs by ids, many at once; where that fails, by halves, so that the rows at fault are named. */
async function searchByIds(rows: readonly Planted[], findings: Findings): Promise<void> {
  const some = async (part: readonly Planted[]): Promise<void> => {
    const { status, body, problem } = await ask(
      `GET /v1/jobs?limit=200&where=id:${part.map(({ id }) => id).join()}`,
    )
    const found = new Set(((body['items'] ?? []) as { id: string }[]).map(({ id }) => id))
    const before = findings.size
    if (status === 200) {
      for (const one of part)
        if (!found.has(one.id)) findings.add('not found by its id', describePlanted(one), 'missing')
      return
    }
    if (part.length > 1) for (const half of halves(part)) await some(half)
    if (findings.size === before) findings.add('GET /v1/jobs?where=id:', together(part), problem)
  }
  // A filter has at most 2,000 characters.
  for (let at = 0; at < rows.length; at += 50) await some(rows.slice(at, at + 50))
}

/** Watches jobs and operations as an open browser does: the first event has their state. */
async function readEvents(findings: Findings): Promise<void> {
  const some = async (rows: readonly Planted[]): Promise<void> => {
    const names = rows.map(({ table, id }) => `${table === 'operation' ? table : 'job'}:${id}`)
    const response = await served.fetch(
      new Request(`http://console.test/v1/events?topics=${['overview', 'workers', ...names].join()}`, {
        headers: { Authorization: `Bearer ${tokens.operator.token}` },
      }),
    )
    const text = await firstEvent(response)
    if (text.includes('data:')) return
    const before = findings.size
    if (rows.length > 1) for (const half of halves(rows)) await some(half)
    if (findings.size === before) findings.add('GET /v1/events', together(rows), `${response.status} ${text}`)
  }
  const rows = shownIn('job', 'dead', 'operation')
  const groups = Array.from({ length: Math.ceil(rows.length / 48) }, (_, at) =>
    rows.slice(at * 48, at * 48 + 48),
  )
  await inParallel(groups, some)
}

/** Names rows that fail together, but neither alone nor in halves. */
function together(rows: readonly Planted[]): string {
  const large = rows.filter(({ value }) => value.isLarge)
  return (large.length > 0 ? large : rows).map(describePlanted).join(' with ')
}

function halves<Item>(items: readonly Item[]): (readonly Item[])[] {
  const middle = Math.ceil(items.length / 2)
  return [items.slice(0, middle), items.slice(middle)]
}

/** Everything a stream sends up to its first event. */
async function firstEvent({ body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true })
      if (/data:.*\n/.test(text)) break
    }
    return text
  } catch (error) {
    return lineOf(error)
  }
}

/** ESC and other control characters, C1, bidi: what a terminal would interpret. */
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

test('every command answers, and prints nothing that a terminal would interpret', async () => {
  const findings = new Findings()
  const endAt = performance.now() + narrowMs
  await inParallel(commandsAbout(shown), async ({ args, about, isKnown }) => {
    if (performance.now() > endAt) {
      findings.add('commands', 'the rest', 'not tried: those before took too long')
      return
    }
    const { code, stdout, stderr } = await runStint(args, db.url)
    if (code === 1 || (isKnown && code !== 0)) findings.add('commands fail', about, `${code} ${stderr}`)
    const control = controls.exec(`${stdout}${stderr}`)?.[0]
    if (control !== undefined)
      findings.add(
        'commands print control characters',
        about,
        `U+${control.codePointAt(0)?.toString(16) ?? ''}`,
      )
  })
  findings.expectNone()
}, 300_000)

test('upkeep, the gauges and the doctor are not stopped by hostile rows', async () => {
  const findings = new Findings()
  const store = fileBlobStore({ dir: blobFolder })
  const hand = upkeepByHand(db.url, { blobs: store })
  const pass = async (name: string, about: string): Promise<void> => {
    await hand.pass(name).catch((error: unknown) => {
      findings.add(`upkeep: ${name}`, about, error)
    })
  }
  for (const { name } of usualServices({ blobs: store })) await pass(name, 'a pass')
  for (const { what, error } of hand.passedBy) findings.add('upkeep passes by', what, error)
  await hand.close()

  for (const { column, value } of hostileRows(columns.filter(({ table }) => table === 'gauge_refresh'))) {
    const type = types.get(`gauge_refresh.${column}`) ?? ''
    const [said] = await tryWrites(query, [
      { statement: `update stint.gauge_refresh set "${column}" = ($1)[1]::${type}`, values: [value.text] },
    ])
    if (said !== 'stored') continue
    // A new instance each time, which has no memory of an earlier pass and waits for nothing.
    const fresh = upkeepByHand(db.url)
    const about = `gauge_refresh.${column} = ${value.label}`
    await fresh.pass('gauges').catch((error: unknown) => {
      findings.add('upkeep: gauges', about, error)
    })
    await fresh.close()
    const { status, problem } = await ask('GET /v1/queues')
    if (status >= 500) findings.add('GET /v1/queues', about, problem)
    const [row] = await query<{ isFresh: boolean }>(
      `select refreshed_at between now() - interval '1 minute' and now() as "isFresh" from stint.gauge_refresh`,
    )
    if (row?.isFresh !== true) findings.add('gauges are not refreshed', about, 'refreshed_at stays')
  }

  const { stdout, stderr, code } = await runStint(['doctor', '-o', 'json'], db.url)
  if (code === 1) findings.add('doctor', 'as a whole', stderr)
  else {
    const { findings: said } = JSON.parse(stdout) as {
      findings: { check: string; level: string; detail: string }[]
    }
    for (const { check, level, detail } of said)
      if (level === 'unknown') findings.add('doctor', check, detail)
  }
  findings.expectNone()
}, 120_000)

/** Starts an operation as a person does, and waits until it has acted on all matches. */
async function operate(
  action: string,
  where: string,
): Promise<Answer & { problem: string; hasActed?: boolean }> {
  const json = { action, where, reason: 'hostile', max: 100_000, pace: null, canary: 0 }
  const started = await ask('POST /v1/operations', { json, headers: { 'Idempotency-Key': nextId() } })
  if (started.status !== 202) return started
  const wait = growingWait()
  for (const endAt = performance.now() + patienceMs; ;) {
    const now = await ask(`GET /v1/operations/${String(started.body['id'])}`)
    const state = String(now.body['state'])
    // A replay goes on to follow its jobs, and here no worker ends them.
    const [matched, ...done] = ['matched', 'acted', 'skipped', 'failed'].map((name) => Number(now.body[name]))
    const isAll = done.reduce((sum, count) => sum + count, 0) === matched
    const hasActed = state === 'done' || (state === 'ramping' && isAll)
    const isOver = hasActed || ['stopped', 'aborted', 'paused'].includes(state)
    if (now.status !== 200 || isOver || performance.now() > endAt) return { ...now, hasActed }
    await wait()
  }
}

test('every hostile job is removed over HTTP, and by an operation on all matches', async () => {
  const findings = new Findings()
  const steps = [
    ['job', 'cancel'],
    ['dead', 'discard'],
  ] as const
  for (const [table, verb] of steps) {
    const there = await query<{ id: string }>(`select id from stint.${table}`)
    const ids = new Set(there.map(({ id }) => id))
    // Upkeep has emptied the trash.
    const rows = shownIn(table).filter(({ circumstance, id }) => circumstance === 'one by one' && ids.has(id))
    await inParallel(rows, async (one) => {
      const json = { reason: 'hostile' }
      const { status, problem } = await ask(`POST /v1/jobs/${one.id}/${verb}`, { json })
      // A dead letter that is discarded, or was edited into another, says so.
      if (status !== 200 && status !== 409)
        findings.add(`POST /v1/jobs/{id}/${verb}`, describePlanted(one), problem)
    })
  }
  const operations = [
    // Each row that cannot be replayed is found by halves, which takes time.
    ...(form === 'short' ? [] : [['replay', 'queue:graves.many']]),
    ['cancel', 'state:scheduled,waiting,ready,retrying'],
    ['discard', 'state:dead'],
  ]
  for (const [action = '', where = ''] of operations) {
    const { hasActed, problem } = await operate(action, where)
    if (hasActed !== true) findings.add(`operation ${action}`, where, problem)
  }
  const byId = new Map(jobsShown().map((one) => [one.id, one]))
  // job_in_bounds, which is removed here, keeps out a live row with the state of an ended one.
  const left = await query<Left>(
    `select id, left(queue, 60) as queue, kind, format('still %s', state) as why from stint.job where kind <> $1 and state < 'succeeded'
     union all
     select id, left(queue, 60), kind, 'still among the dead letters' from stint.dead where discarded_at is null and replaced_by is null`,
    [operationJob.kind],
  )
  for (const { id, queue, why } of left) {
    const one = byId.get(id)
    findings.add(
      'not removed',
      one === undefined ? `${byCall.get(id) ?? ''} ${queue}` : describePlanted(one),
      why,
    )
  }
  findings.expectNone()
}, 300_000)

test('stored replies, queues, error groups and operations with hostile columns are answered, changed and ended', async () => {
  const findings = new Findings()
  const post = async (request: string, one: Planted, options: CallOptions): Promise<void> => {
    const { status, problem } = await ask(request, options)
    if (status >= 500) findings.add(request.replace(one.id, '{…}'), describePlanted(one), problem)
  }
  const headerKey = /^[\x21-\x7e]{1,200}$/
  await inParallel(
    shownIn('http_reply').filter(({ id }) => headerKey.test(id)),
    async (one) => {
      // Its body is as it was stored, and need not be JSON.
      const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': one.id }
      const { token } = tokens[replied.role]
      const response = await served.fetch(
        new Request(`http://console.test${replied.path}`, {
          method: 'POST',
          body: replied.body,
          headers: { ...headers, Authorization: `Bearer ${token}` },
        }),
      )
      const thrown = consoleErrors.get(response.headers.get('X-Request-Id') ?? '')
      if (response.status >= 500)
        findings.add('kept replies', describePlanted(one), thrown ?? (await response.text()))
    },
  )
  await inParallel(shownIn('error_group'), (one) =>
    post(`POST /v1/error-groups/${one.id}/resolve`, one, { json: { reason: 'hostile' } }),
  )
  await inParallel(
    shownIn('queue').filter(({ id }) => segment(id) !== undefined),
    (one) =>
      post(`PATCH /v1/queues/${segment(one.id) ?? ''}`, one, {
        token: tokens.admin.token,
        json: { keep: '1d' },
      }),
  )

  // Each operation gets its job, and is executed. An ordinary one beside them completes.
  const executed = shownIn('operation').filter(({ column }) => column !== 'job_id')
  await plant(
    [],
    executed.map(({ id, row }) => ({
      table: 'job',
      row: {
        id: row['job_id'] ?? null,
        queue: operationJob.queue,
        kind: operationJob.kind,
        state: 'ready',
        input: JSON.stringify({ id }),
        max_attempts: '3',
      },
      circumstance: '',
    })),
  )
  const { body, problem } = await operate('cancel', 'queue:asleep.one')
  if (body['state'] !== 'done') findings.add('an operation beside hostile ones', 'cancel', problem)
  await inParallel(shownIn('operation'), async (one) => {
    await post(`POST /v1/operations/${one.id}/abort`, one, { json: { reason: 'hostile' } })
    const found = await ask(`GET /v1/operations/${one.id}`)
    // Upkeep has removed those that ended long ago.
    if (found.status !== 404 && !['done', 'stopped', 'aborted'].includes(String(found.body['state'])))
      findings.add('operations that cannot be ended', describePlanted(one), found.problem)
  })
  findings.expectNone()
}, 120_000)

test('a hostile schedule prevents no other from firing, gets an outcome, and can be deleted', async () => {
  const findings = new Findings()
  await query('delete from stint.schedule')
  const due = await plant(
    dueSchedules(columns).filter(({ value }) => form !== 'short' || !value.isLarge),
    [
      {
        table: 'schedule',
        row: { ...usualRow('schedule', columns), ...dueSchedule(), name: 'good.schedule' },
        circumstance: '',
      },
    ],
  )
  const byName = new Map(due.map((one) => [one.id, one]))
  const nameOf = (name: string): string => {
    const one = byName.get(name)
    return one === undefined ? name : describePlanted(one)
  }
  let longestMs = 0
  let lastAt = performance.now()
  const timer = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - lastAt)
    lastAt = performance.now()
  }, 20)
  const worker = await startWorker([byFunction])
  const undecided = (): Promise<{ name: string }[]> =>
    query<{ name: string }>(
      `select name from stint.schedule
        where next_fire_at <= now() and failures = 0 and last_error is null and paused_at is null and source <> 'code'
          and not input_from_code and coalesce(retry_at, now()) <= now()`,
    )
  // Read from the database: the console's own worker may have been faster, or a pass failed after the fire.
  const hasFired = async (): Promise<boolean> => {
    const fires = await query(`select from stint.fire where schedule = 'good.schedule' and outcome = 'fired'`)
    return fires.length > 0
  }
  const left = await whenQuiet(async () => {
    const names = (await undecided()).map(({ name }) => name)
    const awaited = names.filter((name) => byName.get(name)?.isBarred !== true)
    return (await hasFired()) ? awaited : ['good.schedule', ...awaited]
  })
  clearInterval(timer)
  await worker.worker.stop({ drain: 0 }).catch((error: unknown) => {
    findings.add('worker', 'as a whole', error)
  })
  for (const name of left) findings.add('scheduler', nameOf(name), 'due and not decided about')
  for (const { what, error, jobIds } of worker.told('trouble'))
    if (jobIds === undefined) findings.add('trouble of the worker', what, error)
  if (longestMs > 3_000)
    findings.add('scheduler', 'all', `blocks the event loop for ${Math.round(longestMs)} ms`)

  await inParallel(due, async (one) => {
    const name = segment(one.id)
    if (name !== undefined) await ask(`DELETE /v1/schedules/${name}?reason=hostile`)
    else await runStint(['schedule', 'delete', one.id], db.url)
  })
  for (const { name } of await query<{ name: string }>(
    `select name from stint.schedule where name <> 'good.schedule'`,
  ))
    if (byName.get(name)?.isBarred !== true)
      findings.add('schedules that cannot be deleted', nameOf(name), 'still there')
  findings.expectNone()
}, 120_000)
