import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operationJob } from '../src/operations/contract.ts'
import { fileBlobStore } from '../src/index.ts'
import { consoleOpenApi } from '../src/server/console.ts'
import { usualServices } from '../src/worker/upkeep/services.ts'
import { tokens } from './console/scene.ts'
import type { CallOptions } from './console/scene.ts'
import { runStint } from './support/cli.ts'
import { Findings, lineOf } from './support/findings.ts'
import { form } from './support/form.ts'
import { byFunction, hostileCalls, jsonMembers } from './support/hostile-calls.ts'
import { membersRead, tryWrites } from './support/hostile-catalog.ts'
import { HostileConsole } from './support/hostile-console.ts'
import { createHostileDatabase, isRefusal } from './support/hostile-database.ts'
import type { Beside, HostileDatabase } from './support/hostile-database.ts'
import { commandsAbout, lists, looksAt, segment } from './support/hostile-looks.ts'
import {
  describePlanted,
  dueSchedule,
  dueSchedules,
  hostileRows,
  isServed,
  lostWorker,
  ofParts,
  operationOfJobs,
  usualRow,
} from './support/hostile-planted.ts'
import type { Planted, Row } from './support/hostile-planted.ts'
import { hostileValues } from './support/hostile-values.ts'
import { meetAll, narrowMs, startWorker, watchLoop, whenQuiet } from './support/hostile-worker.ts'
import type { Left, WorkerScene } from './support/hostile-worker.ts'
import { upkeepByHand } from './support/history.ts'
import { inParallel } from './support/in-parallel.ts'

/*
 * Every column and function argument that a producer or an operator can write, with values that no honest program writes,
 * against everything that reads them. The tests of this file build on one another: the values are written, then met by a
 * worker, every screen, every command and upkeep, and removed. hostile-writes.test.ts tests how each role writes them.
 *
 * The writable columns are read from the database, so a new column is tested without a new line here. The owner plants
 * the rows without the constraints that came after the first release, because an older release may have stored them.
 */

let db: HostileDatabase
let served: HostileConsole
let blobFolder: string
let scene: WorkerScene
/** The call that stored a job, by the job's id. */
const byCall = new Map<string, string>()
const strayErrors: string[] = []
const noteStray = (error: unknown): void => void strayErrors.push(lineOf(error))

beforeAll(async () => {
  process.on('unhandledRejection', noteStray).on('uncaughtException', noteStray)
  blobFolder = mkdtempSync(join(tmpdir(), 'stint-hostile-'))
  db = await createHostileDatabase()
  served = new HostileConsole(db.url)
  scene = { db, blobFolder, strayErrors, byCall }
})
afterAll(async () => {
  process.off('unhandledRejection', noteStray).off('uncaughtException', noteStray)
  await served.close()
  rmSync(blobFolder, { recursive: true, force: true })
  await db.drop()
})

test('a function that a role may call refuses a hostile argument with a data error, or stores it', async () => {
  const { query, functions } = db
  const findings = new Findings()
  // A member that a function reads but hostile-calls.ts does not list would not be tested.
  const read = await membersRead(query)
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

test('a worker goes on beside hostile jobs, and each hostile job reaches an end', async () => {
  const findings = new Findings()
  await db.query(
    `insert into stint.worker (id, lease_until, lost_at) values ($1, now() - interval '1 hour', now())`,
    [lostWorker],
  )
  await meetAll(scene, hostileRows(db.columns).filter(isServed), [byFunction], findings)
  findings.expectNone()
}, 600_000)

/** Hostile rows that the screens show. */
let shown: Planted[] = []
const shownIn = (...tables: string[]): Planted[] => shown.filter(({ table }) => tables.includes(table))
const jobsShown = (): Planted[] => shownIn('job', 'dead', 'finished')
const usualBeside = (table: string, changes: Row): Beside => ({
  table,
  row: { ...usualRow(table, db.columns), ...changes },
  circumstance: '',
})

test('every screen answers, and shows each hostile row', async () => {
  const findings = new Findings()
  const document = consoleOpenApi() as { paths: Record<string, Record<string, unknown>> }
  const routes = Object.keys(document.paths).filter((path) => 'get' in (document.paths[path] ?? {}))
  expect(Object.keys(looksAt([])).sort(), 'routes that read, and what is asked of them').toEqual(
    routes.sort(),
  )

  const rows = hostileRows(db.columns).filter(
    (row) =>
      !isServed(row) &&
      row.table !== 'gauge_refresh' &&
      (form !== 'short' || row.table === 'job' || !row.value.isLarge),
  )
  await db.forget(
    [],
    rows.filter(({ table, id }) => ['job', 'dead', 'finished'].includes(table) && id !== ''),
  )
  shown = await db.plant(rows, [
    usualBeside('operation', { id: operationOfJobs, state: 'aborted' }),
    ...Object.entries(ofParts).map(([table, name]) => usualBeside(table, { name })),
  ])
  expect(jobsShown().length).toBeGreaterThan(500)

  for (const [route, looks] of Object.entries(looksAt(shown)))
    await inParallel(looks, async ({ path, about, isKnown }) => {
      const { status, problem } = await served.ask(`GET ${path}`)
      if (status >= 500 || (isKnown && status >= 400)) findings.add(`GET ${route}`, about, problem)
    })
  for (const [path, tables] of Object.entries(lists)) {
    const before = findings.size
    const seen = new Set((await served.pages(path, findings)).map((item) => item['id'] ?? item['name']))
    // Lists without a filter for them omit discarded dead letters and those edited into another job.
    const missing = shownIn(...tables).filter(
      ({ id, row, isBarred }) =>
        !seen.has(id) && !isBarred && row['discarded_at'] == null && row['replaced_by'] == null,
    )
    // After a page that failed, everything is missing.
    if (findings.size === before)
      for (const one of missing) findings.add(`not in the list ${path}`, describePlanted(one), 'missing')
  }
  await served.searchByIds(jobsShown(), findings)
  await served.readEvents(shownIn('job', 'dead', 'operation'), findings)
  findings.expectNone()
}, 300_000)

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

  for (const { column, value } of hostileRows(db.columns.filter(({ table }) => table === 'gauge_refresh'))) {
    const type = db.types.get(`gauge_refresh.${column}`) ?? ''
    const [said] = await tryWrites(db.query, [
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
    const { status, problem } = await served.ask('GET /v1/queues')
    if (status >= 500) findings.add('GET /v1/queues', about, problem)
    const [row] = await db.query<{ isFresh: boolean }>(
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

test('every hostile job is removed over HTTP, and by an operation on all matches', async () => {
  const findings = new Findings()
  const steps = [
    ['job', 'cancel'],
    ['dead', 'discard'],
  ] as const
  for (const [table, verb] of steps) {
    const there = await db.query<{ id: string }>(`select id from stint.${table}`)
    const ids = new Set(there.map(({ id }) => id))
    // Upkeep has emptied the trash.
    const rows = shownIn(table).filter(({ circumstance, id }) => circumstance === 'one by one' && ids.has(id))
    await inParallel(rows, async (one) => {
      const json = { reason: 'hostile' }
      const { status, problem } = await served.ask(`POST /v1/jobs/${one.id}/${verb}`, { json })
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
    const { hasActed, problem } = await served.operate(action, where)
    if (hasActed !== true) findings.add(`operation ${action}`, where, problem)
  }
  const byId = new Map(jobsShown().map((one) => [one.id, one]))
  // job_in_bounds, which is removed here, keeps out a live row with the state of an ended one.
  const left = await db.query<Left>(
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
    const { status, problem } = await served.ask(request, options)
    if (status >= 500) findings.add(request.replace(one.id, '{…}'), describePlanted(one), problem)
  }
  const headerKey = /^[\x21-\x7e]{1,200}$/
  await inParallel(
    shownIn('http_reply').filter(({ id }) => headerKey.test(id)),
    (one) => served.repeat(one, findings),
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
  await db.plant(
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
  const { body, problem } = await served.operate('cancel', 'queue:asleep.one')
  if (body['state'] !== 'done') findings.add('an operation beside hostile ones', 'cancel', problem)
  await inParallel(shownIn('operation'), async (one) => {
    await post(`POST /v1/operations/${one.id}/abort`, one, { json: { reason: 'hostile' } })
    const found = await served.ask(`GET /v1/operations/${one.id}`)
    // Upkeep has removed those that ended long ago.
    if (found.status !== 404 && !['done', 'stopped', 'aborted'].includes(String(found.body['state'])))
      findings.add('operations that cannot be ended', describePlanted(one), found.problem)
  })
  findings.expectNone()
}, 120_000)

test('a hostile schedule prevents no other from firing, gets an outcome, and can be deleted', async () => {
  const findings = new Findings()
  await db.query('delete from stint.schedule')
  const due = await db.plant(
    dueSchedules(db.columns).filter(({ value }) => form !== 'short' || !value.isLarge),
    [usualBeside('schedule', { ...dueSchedule(), name: 'good.schedule' })],
  )
  const byName = new Map(due.map((one) => [one.id, one]))
  const nameOf = (name: string): string => {
    const one = byName.get(name)
    return one === undefined ? name : describePlanted(one)
  }
  const longestBlock = watchLoop()
  const worker = await startWorker(scene, [byFunction])
  const undecided = (): Promise<{ name: string }[]> =>
    db.query<{ name: string }>(
      `select name from stint.schedule
        where next_fire_at <= now() and failures = 0 and last_error is null and paused_at is null and source <> 'code'
          and not input_from_code and coalesce(retry_at, now()) <= now()`,
    )
  // Read from the database: the console's own worker may have been faster, or a pass failed after the fire.
  const hasFired = async (): Promise<boolean> => {
    const fires = await db.query(
      `select from stint.fire where schedule = 'good.schedule' and outcome = 'fired'`,
    )
    return fires.length > 0
  }
  const left = await whenQuiet(async () => {
    const names = (await undecided()).map(({ name }) => name)
    const awaited = names.filter((name) => byName.get(name)?.isBarred !== true)
    return (await hasFired()) ? awaited : ['good.schedule', ...awaited]
  })
  const longestMs = longestBlock()
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
    if (name !== undefined) await served.ask(`DELETE /v1/schedules/${name}?reason=hostile`)
    else await runStint(['schedule', 'delete', one.id], db.url)
  })
  for (const { name } of await db.query<{ name: string }>(
    `select name from stint.schedule where name <> 'good.schedule'`,
  ))
    if (byName.get(name)?.isBarred !== true)
      findings.add('schedules that cannot be deleted', nameOf(name), 'still there')
  findings.expectNone()
}, 120_000)
