/*
 * Callers whose `can` is a deny list: it allows every queue and every kind, and hides single jobs by their key. Hidden
 * jobs leave no trace in samples, counts, pages and cursors, and no operation touches them.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Console, Identity } from '../../src/server.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { bury } from '../support/dead-letters.ts'
import { eventually } from '../support/eventually.ts'
import { anything, call, openConsole, openStint } from './scene.ts'
import type { Answer } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

const hidden = 'vip'
const denies: Identity['can'] = (_, of) => of?.key !== hidden

function consoleFor(can: Identity['can'], actor = 'nora'): Console {
  return openConsole(db.url, {
    tokens: [],
    auth: () => ({ actor, role: 'admin', origin: 'api', can }),
  })
}

type Item = Record<string, unknown> & { id: string }
function itemsOf({ body }: Answer): Item[] {
  return body['items'] as Item[]
}
const idsOf = (answer: Answer): string[] => itemsOf(answer).map(({ id }) => id)

/** Stores jobs with these keys, one after the other, and returns the ids of each. */
async function given(queue: string, keys: readonly string[]): Promise<{ seen: string[]; unseen: string[] }> {
  const stint = openStint(db.url)
  const { jobs } = await stint.enqueueMany(anything, keys, {
    each: (key) => ({ queue, key: key as string }),
  })
  const ids = jobs.map(({ id }) => id)
  return {
    seen: ids.filter((_, index) => keys[index] !== hidden),
    unseen: ids.filter((_, index) => keys[index] === hidden),
  }
}

async function stateOf(id: string): Promise<string | undefined> {
  const [row] = await db.query<{ state: string }>('select state from stint.jobs where id = $1', [id])
  return row?.state
}

const start = (served: Console, json: object): Promise<Answer> =>
  call(served, 'POST /v1/operations', {
    json: { reason: 'try', ...json },
    headers: { 'Idempotency-Key': randomUUID() },
  })

async function ended(served: Console, id: unknown): Promise<Answer> {
  let answer: Answer | undefined
  await eventually(async () => {
    answer = await call(served, `GET /v1/operations/${String(id)}`)
    expect(answer.body['state']).toBe('done')
  })
  return answer as Answer
}

test('an operation neither shows, counts nor touches the jobs that `can` hides', async () => {
  const queue = 'mixed'
  const { seen, unseen } = await given(queue, ['a', hidden, 'b', hidden, 'c', hidden, 'd'])
  const served = consoleFor(denies)
  const cancel = { action: 'cancel', where: `queue:${queue}` }
  const preview = await call(served, 'POST /v1/operations', { json: { ...cancel, dryRun: true } })
  expect(preview.body).toMatchObject({ matched: { count: 4, exact: true }, excluded: [] })
  expect((preview.body['samples'] as Item[]).map(({ id }) => id).sort()).toEqual([...seen].sort())
  expect(preview.text).not.toContain(hidden)

  // `max` limits only the jobs that the caller may act on.
  const started = await start(served, { ...cancel, max: 4 })
  expect(started.status).toBe(202)
  const { body } = await ended(served, started.body['id'])
  expect(body).toMatchObject({ matched: 4, acted: 4, skipped: 0, failed: 0 })
  for (const id of seen) expect(await stateOf(id)).toBe('cancelled')
  for (const id of unseen) expect(await stateOf(id)).toBe('ready')
  const touched = await call(served, `GET /v1/operations/${String(body['id'])}/jobs`)
  expect(idsOf(touched).sort()).toEqual([...seen].sort())
  expect((await start(served, { ...cancel, max: 1 })).status).toBe(202)
})

test('an operation takes no job for which `can` denies the verb, and none that is created after its preview', async () => {
  const queue = 'watched'
  const { seen, unseen } = await given(queue, ['a', hidden, 'b'])
  const served = consoleFor((action, of) => action !== 'cancel' || of?.key !== hidden)
  expect(idsOf(await call(served, `GET /v1/jobs?where=queue:${queue}`))).toHaveLength(3)
  const target = { action: 'cancel', where: `queue:${queue}` }
  const { body: preview } = await call(served, 'POST /v1/operations', { json: { ...target, dryRun: true } })
  const later = await given(queue, ['c'])
  const started = await start(served, { ...target, asOf: preview['asOf'] })
  expect((await ended(served, started.body['id'])).body).toMatchObject({ matched: 2, acted: 2 })
  for (const id of seen) expect(await stateOf(id)).toBe('cancelled')
  for (const id of [...unseen, ...later.seen]) expect(await stateOf(id)).toBe('ready')
})

test('an operation with more matches than `max` is refused before it acts', async () => {
  const queue = 'ceiling'
  const { seen } = await given(queue, ['a', 'b', hidden, 'c'])
  const refused = await start(consoleFor(denies), { action: 'cancel', where: `queue:${queue}`, max: 2 })
  expect(refused).toMatchObject({ status: 422, body: { type: 'urn:stint:problem:too-many-matches' } })
  for (const id of seen) expect(await stateOf(id)).toBe('ready')
})

test("another person's operation that may include hidden jobs is not found", async () => {
  const queue = 'of-others'
  const { seen, unseen } = await given(queue, ['a', hidden])
  const other = consoleFor(undefined, 'ada')
  const started = await start(other, { action: 'cancel', where: `queue:${queue}` })
  const id = String(started.body['id'])
  await ended(other, id)
  const named = await start(other, { action: 'cancel', where: `queue:${queue} key:a` })
  await ended(other, named.body['id'])

  const served = consoleFor(denies)
  expect((await call(served, `GET /v1/operations/${id}`)).status).toBe(404)
  expect((await call(served, `GET /v1/operations/${id}/jobs`)).status).toBe(404)
  expect((await call(served, `POST /v1/operations/${id}/abort`, { json: {} })).status).toBe(404)
  expect((await call(served, `GET /v1/events?topics=operation:${id}`)).status).toBe(404)
  const shown = idsOf(await call(served, 'GET /v1/operations'))
  expect(shown).not.toContain(id)
  // The filter of this one names a key that is not hidden.
  expect(shown).toContain(named.body['id'])
  expect([await stateOf(seen[0] ?? ''), await stateOf(unseen[0] ?? '')]).toEqual(['cancelled', 'cancelled'])
})

test('an operation is resumed only by a caller who may still act on every job that is left', async () => {
  const queue = 'paused'
  const { seen, unseen } = await given(queue, [hidden, 'a', 'b', 'c'])
  let can: NonNullable<Identity['can']> = () => true
  const served = consoleFor((action, of) => can(action, of))
  const started = await start(served, { action: 'cancel', where: `queue:${queue}`, pace: 0.1 })
  const path = `/v1/operations/${String(started.body['id'])}`
  const steer = (verb: string, json: object): Promise<Answer> =>
    call(served, `POST ${path}/${verb}`, { json })
  expect((await steer('pause', {})).body).toMatchObject({ state: 'paused' })
  can = (action, of) => action !== 'cancel' || of?.key !== hidden
  expect((await steer('resume', {})).status).toBe(403)
  expect(await stateOf(unseen[0] ?? '')).toBe('ready')
  can = () => true
  await steer('pace', { pace: null })
  expect((await steer('resume', {})).status).toBe(200)
  await ended(served, started.body['id'])
  for (const id of [...seen, ...unseen]) expect(await stateOf(id)).toBe('cancelled')
})

test('the jobs of an operation are shown to a caller who may see them now', async () => {
  const queue = 'lost-rights'
  const { seen, unseen } = await given(queue, ['a', hidden, 'b', hidden, 'c'])
  let can: NonNullable<Identity['can']> = () => true
  const served = consoleFor((action, of) => can(action, of))
  const started = await start(served, { action: 'cancel', where: `queue:${queue}` })
  const id = String(started.body['id'])
  await ended(served, id)
  can = denies
  const pages: string[] = []
  let cursor = ''
  do {
    const page = await call(served, `GET /v1/operations/${id}/jobs?limit=2${cursor}`)
    expect(page.status).toBe(200)
    pages.push(...idsOf(page))
    for (const one of unseen) expect(page.text).not.toContain(one)
    const next = page.body['next'] as string | null
    cursor = next === null ? '' : `&cursor=${next}`
  } while (cursor !== '')
  expect(pages.sort()).toEqual([...seen].sort())
})

test('pages are filled with visible jobs, and no cursor names a hidden job', async () => {
  const queue = 'pages'
  const keys = Array.from({ length: 60 }, (_, n) => (n % 5 === 0 ? `k${n}` : hidden))
  const { seen, unseen } = await given(queue, keys)
  const served = consoleFor(denies)
  const found: string[] = []
  let cursor = ''
  let pages = 0
  do {
    const page = await call(served, `GET /v1/jobs?where=queue:${queue}&limit=5${cursor}`)
    expect(page.status).toBe(200)
    found.push(...idsOf(page))
    pages++
    const { next, looked } = page.body as { next: string | null; looked: object }
    expect(looked).toEqual({ rows: itemsOf(page).length, complete: true })
    for (const id of unseen) expect(page.text).not.toContain(id)
    cursor = next === null ? '' : `&cursor=${next}`
  } while (cursor !== '')
  expect(found).toEqual([...seen].reverse())
  expect(pages).toBe(3)
})

test('a page that ends among hidden jobs gives a sealed cursor, valid at every console of the installation', async () => {
  const queue = 'deep'
  const { seen } = await given(queue, ['a'])
  // More jobs than are read for one page.
  await given(queue, new Array<string>(2_500).fill(hidden))
  const cursors: string[] = []
  let items: string[] = []
  do {
    const cursor = cursors.length === 0 ? '' : `&cursor=${cursors.at(-1) ?? ''}`
    const page = await call(consoleFor(denies), `GET /v1/jobs?where=queue:${queue}&limit=2${cursor}`)
    expect(page.status).toBe(200)
    items = idsOf(page)
    const next = page.body['next'] as string | null
    if (next === null) break
    cursors.push(next)
    expect(cursors.length).toBeLessThan(50)
  } while (items.length === 0)
  expect(items).toEqual(seen)
  expect(cursors.length).toBeGreaterThan(0)
  const all = await db.query<{ id: string }>('select id from stint.job where queue = $1', [queue])
  const known = new Set(all.map(({ id }) => id.replaceAll('-', '')))
  for (const cursor of cursors) {
    const bytes = Buffer.from(cursor, 'base64url').toString('hex')
    for (let at = 0; at + 32 <= bytes.length; at += 2) expect(known).not.toContain(bytes.slice(at, at + 32))
  }
  // The same position is sealed to another text each time, and a changed cursor is refused.
  expect(new Set(cursors).size).toBe(cursors.length)
  const forged = `${cursors[0]?.startsWith('A') === true ? 'B' : 'A'}${cursors[0]?.slice(1) ?? ''}`
  for (const cursor of [forged, 'x', 'A'.repeat(59)])
    expect((await call(consoleFor(denies), `GET /v1/jobs?cursor=${cursor}`)).status).toBe(422)
})

test('a page of error groups is filled with visible ones', async () => {
  const stint = openStint(db.url)
  for (const [key, group] of [
    ['plain', '1111111111111111'],
    [hidden, '2222222222222222'],
  ] as const) {
    const { id } = await stint.enqueue(anything, null, { queue: 'groups', key })
    await bury(db, id, { error: { name: 'E', message: key, fingerprint: group }, fingerprint: group })
    await db.query(
      `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job)
       values ($1, 'any.thing', 'transient', 'E', $2, $2, now(), clock_timestamp(), $3)`,
      [group, key, id],
    )
  }
  const served = consoleFor(denies)
  const page = await call(served, 'GET /v1/error-groups?limit=1')
  expect(itemsOf(page).map(({ group }) => group)).toEqual(['1111111111111111'])
  expect((await call(served, 'GET /v1/error-groups/2222222222222222')).status).toBe(404)
  expect(page.body['trash']).toEqual({ count: 0, exact: false })
})

test('answers about all jobs are only for callers whose `can` allows them without looking at a job', async () => {
  const denied = consoleFor(denies)
  for (const path of ['/v1/audit', '/v1/stats']) expect((await call(denied, `GET ${path}`)).status).toBe(403)
  const byAction = consoleFor((action) => action !== 'edit')
  for (const path of ['/v1/audit', '/v1/stats'])
    expect((await call(byAction, `GET ${path}`)).status).toBe(200)
})

test('a stored reply is given only to a caller who may still see and do what it is about', async () => {
  const { seen } = await given('kept', ['acme'])
  const id = seen[0] ?? ''
  let can: NonNullable<Identity['can']> = () => true
  const served = consoleFor((action, of) => can(action, of))
  const headers = { 'Idempotency-Key': randomUUID() }
  const repeat = (): Promise<Answer> => call(served, `POST /v1/jobs/${id}/cancel`, { json: {}, headers })
  const first = await repeat()
  expect(first.status).toBe(200)
  expect(await repeat()).toMatchObject({ status: 200, text: first.text })
  const lost: [NonNullable<Identity['can']>, number][] = [
    [(_, of) => of?.key !== 'acme', 404],
    [(action, of) => action !== 'cancel' || of === undefined, 403],
    [(action) => action !== 'view.input', 403],
  ]
  for (const [now, status] of lost) {
    can = now
    const answer = await repeat()
    expect(answer.status).toBe(status)
    expect(answer.headers.get('Idempotency-Replayed')).toBeNull()
    expect(answer.text).not.toContain('acme')
  }
  can = () => true
  expect(await repeat()).toMatchObject({ status: 200, text: first.text })

  const operation = { 'Idempotency-Key': randomUUID() }
  const json = { action: 'discard', where: 'queue:kept', reason: 'try' }
  const begin = (): Promise<Answer> => call(served, 'POST /v1/operations', { json, headers: operation })
  expect((await begin()).status).toBe(202)
  can = (action) => action !== 'discard'
  expect((await begin()).status).toBe(403)
})

test('a caller narrowed to one key never sees a job that arrives meanwhile', async () => {
  const { seen } = await given('own-key', ['mine', hidden, 'mine'])
  const served = consoleFor((_, of) => of?.key === undefined || of.key === 'mine')
  const page = await call(served, 'GET /v1/jobs?where=queue:own-key&limit=2')
  expect(idsOf(page)).toEqual([...seen].reverse())
  expect(page.body['next']).toBeNull()
})
