import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { bury } from '../support/dead-letters.ts'
import { newName } from '../support/workers.ts'
import { deadLetter } from './dead-letter-given.ts'
import { anything, call, openConsole, openStint, tokens } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

const { token } = tokens.operator
const viewer = tokens.viewer.token
const admin = tokens.admin.token

test('errors, log lines and error groups do not show passwords of URLs', async () => {
  const served = openConsole(db.url)
  const stint = openStint(db.url)
  const url = 'postgres://app:hunter2@db.example.com/x'
  const { id } = await stint.enqueue(anything, { url }, { queue: newName('urls') })
  await db.query(
    `insert into stint.log (job_id, epoch, line, level, message, data) values ($1, 1, 1, 'info', $2, $3)`,
    [id, `dial ${url}`, { at: url }],
  )
  const group = 'abababababababab'
  const error = { name: 'E', message: `dial ${url}`, stack: `E: ${url}\n at x`, fingerprint: group }
  await bury(db, id, { error: { ...error, causes: [{ name: 'C', message: url }] }, fingerprint: group })
  await db.query(
    `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job)
     values ($1, 'any.thing', 'transient', 'E', $2, $2, now(), now(), $3)`,
    [group, error.message, id],
  )
  await db.query(
    `insert into stint.error_hour (fingerprint, hour, process, flush, failures, deaths)
     values ($1, date_trunc('hour', now()), gen_random_uuid(), 1, 5, 3)`,
    [group],
  )
  const name = newName('failing')
  await stint.schedules.set({ name, job: anything, input: null, cron: '0 2 1 1 *' })
  await db.query('update stint.schedule set failures = 2, last_error = $2 where name = $1', [name, url])
  for (const path of [
    ...[`jobs/${id}`, `jobs/${id}/attempts`, `jobs/${id}/logs`, `jobs/${id}/lineage`, `jobs?where=id:${id}`],
    ...['error-groups', `error-groups/${group}`, 'overview', `schedules/${name}`],
  ]) {
    const answer = await call(served, `GET /v1/${path}`, { token: admin })
    expect(answer.status, path).toBe(200)
    expect(answer.text, path).not.toContain('hunter2')
    if (!path.includes('lineage')) expect(answer.text, path).toContain('app:[redacted]@db')
  }
  await db.query('delete from stint.error_group where fingerprint = $1', [group])
})

test('an error group is shown, resolved, ignored and reopened', async () => {
  const served = openConsole(db.url)
  const id = await deadLetter(db)
  const group = 'b02c9e51b02c9e51'
  await db.query(
    `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job)
     values ($1, 'mail.send', 'error', 'CardDeclined', 'do not honor', 'do not honor 7', now(), now(), $2) on conflict do nothing`,
    [group, id],
  )
  const list = await call(served, 'GET /v1/error-groups?status=open', { token: viewer })
  expect(list.body).toMatchObject({ items: [{ group, status: 'open' }], trash: { exact: true } })
  expect((list.body as { items: { dead: { count: number } }[] }).items[0]?.dead.count).toBeGreaterThan(0)
  expect((await call(served, `GET /v1/error-groups/${group}`, { token })).body).toMatchObject({
    message: 'do not honor 7',
    stack: expect.stringContaining('CardDeclined') as string,
  })
  expect(
    (
      await call(served, `POST /v1/error-groups/${group}/resolve`, {
        token,
        json: { version: 'v215', reason: 'fixed' },
      })
    ).body,
  ).toMatchObject({ status: 'resolved', resolvedIn: 'v215' })
  expect(
    (await call(served, `POST /v1/error-groups/${group}/ignore`, { token, json: { for: '1h' } })).body,
  ).toMatchObject({ status: 'ignored' })
  expect(
    (await call(served, `POST /v1/error-groups/${group}/reopen`, { token, json: {} })).body,
  ).toMatchObject({ status: 'open' })
  expect((await call(served, 'GET /v1/error-groups/ffffffffffffffff', { token })).status).toBe(404)
  const audit = await call(served, `GET /v1/audit?target=${group}`, { token: admin })
  expect((audit.body as { items: { action: string }[] }).items.map(({ action }) => action)).toEqual([
    'error.reopen',
    'error.ignore',
    'error.resolve',
  ])
  expect((await call(served, 'GET /v1/audit', { token })).status).toBe(403)
})
