import { beforeAll, expect, test } from 'vitest'
import { defineJob, defineSchedule } from '../src/index.ts'
import type { Schedule } from '../src/index.ts'
import { Database } from '../src/db/database.ts'
import { setSchedule } from '../src/schedules/set.ts'
import { tick } from '../src/schedules/fires/tick.ts'
import { call, openConsole, tokens } from './console/scene.ts'
import { runStint } from './support/cli.ts'
import { dropChecks } from './support/planted-rows.ts'
import { newJob, newName, startFor, workerScene } from './support/workers.ts'

const scene = workerScene()
beforeAll(() => dropChecks(scene.db))

const job = defineJob({ kind: 'report.send', queue: 'reports' })

function given(name = newName('s')): Schedule {
  return defineSchedule({ name, job, every: '1s', input: { a: 1 } })
}

async function onDatabase<Result>(work: (db: Database) => Promise<Result>): Promise<Result> {
  const limits = { poolSize: 2, deadlineMs: 10_000, applicationName: 't' }
  const db = new Database({ url: scene.db.url, schema: 'stint', ...limits })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

/** Changes columns of a stored schedule without Stint and makes it due; each value is an SQL expression. */
async function tamper(name: string, columns: Readonly<Record<string, string>>): Promise<void> {
  const changes = { next_fire_at: 'now()', decided_to: `now() - interval '5 s'`, ...columns }
  const assignments = Object.entries(changes).map(([column, value]) => `${column} = ${value}`)
  await scene.db.query(`update stint.schedule set ${assignments.join(', ')} where name = $1`, [name])
}

async function countFires(name: string): Promise<number> {
  const fires = await scene.stint.schedules.fires(name, { limit: 1_000 })
  return fires.filter(({ outcome }) => outcome === 'fired').length
}

/** Values that a row can hold, and what the reason names. */
const hostile: [columns: Record<string, string>, said: string][] = [
  [{ spec: `'{"type":"every","everyMs":-5}'` }, 'every'],
  [{ spec: `'{"type":"every","everyMs":0}'` }, 'every'],
  [{ spec: `'{"type":"every","everyMs":1e-300}'` }, 'every'],
  [{ spec: `'{"type":"every","everyMs":1e400}'` }, 'every'],
  [{ spec: `'{"type":"every","everyMs":"1s"}'` }, 'spec'],
  [{ spec: `'{"type":"at","atMs":[null,"x",1e300]}'` }, 'at[1]'],
  [{ spec: `jsonb_build_object('type', 'at', 'atMs', array(select generate_series(1, 200000)))` }, 'spec'],
  [{ spec: `'{"type":"cron","cron":"0 0 30 2 *"}'` }, 'cron'],
  [{ spec: `jsonb_build_object('type', 'cron', 'cron', repeat('*', 100000))` }, 'spec'],
  [{ spec: `'null'` }, 'spec'],
  [{ spec: `'[]'` }, 'spec'],
  [{ time_zone: `'Not/AZone'` }, 'timeZone'],
  [{ time_zone: `repeat('x', 1048576)` }, 'timeZone'],
  [{ starts_at: `'infinity'` }, 'startsAt'],
  [{ ends_at: `'-infinity'` }, 'endsAt'],
  [{ ends_at: `'294276-12-31'` }, 'endsAt'],
  [{ decided_to: `'294276-12-31'` }, 'decided_to'],
  [{ decided_to: `'-infinity'` }, 'decided_to'],
  [{ queued_fire_at: `'infinity'` }, 'queued_fire_at'],
  [{ job: `'null'` }, 'job'],
  [{ job: `'{"priority":1e300}'` }, 'priority'],
  [{ job: `'{"priority":0,"tokens":[null]}'` }, 'job.tokens'],
  [{ job: `'{"priority":0,"maxAttempts":-1}'` }, 'attempts'],
  [{ job: `'{"priority":0,"maxAttempts":1,"version":0}'` }, 'version'],
  [{ job: `'{"priority":0,"options":{"timeoutMs":"abc"}}'` }, 'timeout'],
  [{ job: `'{"priority":0,"options":[]}'` }, 'job.options'],
  [{ job: `'{"priority":0,"deadlineMs":-1}'` }, 'deadline'],
  [{ job: `'{"priority":0,"unique":{"until":"never"}}'` }, 'unique'],
  [{ job: `jsonb_build_object('priority', 0, 'correlationId', repeat('c', 3800))` }, 'correlationId'],
  [{ kind: `''` }, 'kind'],
  [{ kind: `repeat('k', 1048576)` }, 'kind'],
  [{ queue: `E'\\u001b[31m'` }, 'queue'],
  [{ overlap: `'maybe'` }, 'overlap'],
  [{ missed: `'maybe'` }, 'missed'],
  [{ missed_limit: '2147483647' }, 'missed.limit'],
  [{ missed_window_ms: '-9223372036854775808' }, 'missed.window'],
  [{ jitter_ms: '9223372036854775807' }, 'jitter'],
  [{ keep_fires_ms: '9223372036854775807' }, 'keepFires'],
  [{ name: `E'a b\\u202e' || name` }, 'name'],
  [{ failures: '2147483647', turn: '9223372036854775807', spec: `'5'` }, 'spec'],
]

test('an invalid stored schedule is parked with its reason, and the others fire on time', async () => {
  const names: string[] = []
  for (const [columns] of hostile) {
    const name = newName('h')
    await scene.stint.schedules.set(given(name))
    await tamper(name, columns)
    names.push(columns['name'] === undefined ? name : `a b\u202e${name}`)
  }
  const neighbour = given()
  await scene.stint.schedules.set(neighbour)
  await tamper(neighbour.name, {})

  const { fired, failed } = await onDatabase((db) => tick(db, new Map()))
  expect(fired.map(({ schedule }) => schedule)).toEqual([neighbour.name])
  expect(failed.map(({ schedule }) => schedule).sort()).toEqual([...names].sort())
  expect(await countFires(neighbour.name)).toBeGreaterThan(0)
  // The schedule is held back, and its neighbour is not.
  await tamper(neighbour.name, {})
  const again = await onDatabase((db) => tick(db, new Map()))
  expect(again.failed).toEqual([])
  expect(again.fired.map(({ schedule }) => schedule)).toEqual([neighbour.name])

  const served = openConsole(scene.db.url)
  const { token } = tokens.admin
  const list = await call(served, 'GET /v1/schedules?limit=200', { token })
  expect(list.status, list.text.slice(0, 500)).toBe(200)
  expect(list.text.length).toBeLessThan(300_000)
  const items = new Map(
    (list.body['items'] as { name: string; invalid: string | null }[]).map((one) => [one.name, one.invalid]),
  )
  for (const [index, [columns, said]] of hostile.entries()) {
    const name = names[index] ?? ''
    const about = JSON.stringify(columns)
    const path = `/v1/schedules/${encodeURIComponent(name)}`
    const { status, body, text } = await call(served, `GET ${path}`, { token })
    expect(status, `${about}: ${text.slice(0, 500)}`).toBe(200)
    expect(body['invalid'], about).toContain(`\`${said}`)
    expect(body['lastError'], about).toContain(`\`${said}`)
    expect(body['upcoming'], about).toEqual([])
    // The list does not read the job options, which viewers may not see; it counts the failures.
    if (columns['job'] === undefined) expect(items.get(name), about).toBe(body['invalid'])
    await expect(scene.stint.schedules.runNow(name), about).rejects.toMatchObject({ code: 'invalid-option' })
  }
  const listed = await runStint(['schedule', 'list'], scene.db.url)
  expect(listed.code, listed.stderr).toBe(0)
  expect(listed.stdout).toContain('never: it is not valid')
  const page = await runStint(['schedule', 'get', names[0] ?? ''], scene.db.url)
  expect(page.stdout).toContain('The stored schedule is not valid: Expected `every`')
  const { findings } = await scene.stint.doctor({ only: ['schedules'] })
  expect(findings[0]?.detail).toContain('has failed 1 times')
  const overview = await call(served, 'GET /v1/overview', { token })
  expect(overview.text).toContain('does not fire')
  expect(await scene.stint.schedules.get(neighbour.name)).toMatchObject({ invalid: null, lastError: null })

  for (const [index, name] of names.entries()) {
    const about = JSON.stringify(hostile[index]?.[0])
    const { status, text } = await call(served, `DELETE /v1/schedules/${encodeURIComponent(name)}`, { token })
    expect(status, `${about}: ${text.slice(0, 500)}`).toBe(204)
  }
})

test('a parked schedule is tried again when it is set, even if its digest did not change', async () => {
  for (const columns of [
    { spec: `'{"type":"every","everyMs":-5}'` },
    { job: `'5'`, keep_fires_ms: '-9223372036854775808' },
    { decided_to: `'infinity'`, turn: '9223372036854775807' },
  ]) {
    const schedule = given()
    await scene.stint.schedules.set(schedule)
    await tamper(schedule.name, columns)
    expect((await onDatabase((db) => tick(db, new Map()))).failed).toHaveLength(1)
    const repaired = await onDatabase(async (db) => {
      await setSchedule(db, schedule, { source: 'runtime', appVersion: null })
      return scene.stint.schedules.get(schedule.name)
    })
    expect(repaired).toMatchObject({ invalid: null, lastError: null, failures: 0, rule: 'every 1s' })
    await tamper(schedule.name, {})
    const { fired } = await onDatabase((db) => tick(db, new Map()))
    expect(fired.map((one) => one.schedule)).toContain(schedule.name)
    await scene.stint.schedules.delete(schedule.name)
  }
})

test('a worker keeps firing beside a schedule with a negative interval', async () => {
  const bad = given()
  await scene.stint.schedules.set(bad)
  await tamper(bad.name, { spec: `'{"type":"every","everyMs":-5}'` })
  const worker = await startFor(scene, newJob(), () => undefined)
  await worker.tells('scheduleFailed', ({ schedule }) => schedule === bad.name)
  const good = given()
  await scene.stint.schedules.set(good)
  const [fired] = await worker.tells('fired', ({ schedule }) => schedule === good.name)
  expect(fired?.fires.map(({ outcome }) => outcome)).toContain('fired')
})
