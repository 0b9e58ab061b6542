import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startOperationsWorker } from '../../src/console-worker/operations-worker.ts'
import { runStint } from '../support/cli.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/workers.ts'
import { dropChecks, plant } from '../support/hostile-rows.ts'
import { call, openConsole, openStint, tokens } from './scene.ts'
import type { Answer } from './scene.ts'

const { token } = tokens.admin
let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
  await dropChecks(db)
})
afterAll(() => db.drop())

const id = (n: number): string => `019a8c3e-7c1b-7000-8000-${String(n).padStart(12, '0')}`
const random = `(select string_agg(md5(n::text), '') from generate_series(1, 120) as n)`
const far = "'294276-12-31 23:59:59+00'"

/** Values of a job's columns that the types of the columns allow, each with what is said of it. */
const live: [about: string, values: Record<string, string>, broken: string | undefined][] = [
  ['a search word that is null', { search: 'array[null]::text[]' }, 'search: a word is not name:value'],
  ['nested search words', { search: `'{{a,b},{c,d}}'` }, 'search: a word is not name:value'],
  ['thirty search words', { search: `array_fill('a:b'::text, array[30])` }, 'search: too many words'],
  [
    'a search word of a megabyte',
    { search: `array['a:' || repeat('x', 1048576)]` },
    'search: a word is too long',
  ],
  ['a time that is infinite', { state: "'scheduled'", run_at: "'infinity'" }, 'runAt: infinity'],
  ['a time before all others', { run_at: "'-infinity'" }, 'runAt: -infinity'],
  ['a time in the year 294276', { run_at: far }, 'runAt: 294276-12-31'],
  [
    'a time before Christ',
    { state: "'waiting'", run_at: "'4713-01-01 00:00:00+00 BC'" },
    'runAt: 4713-01-01',
  ],
  ['a creation that is infinite', { created_at: "'infinity'" }, 'createdAt: infinity'],
  ['a deadline that is infinite', { state: "'retrying'", deadline_at: "'infinity'" }, 'deadlineAt: infinity'],
  ['a start before all others', { started_at: "'-infinity'", cancel_at: far }, 'startedAt: -infinity'],
  ['a kind of a megabyte', { kind: `repeat('k', 1048576)` }, 'kind: not a name'],
  ['no kind', { kind: `''` }, 'kind: not a name'],
  ['a queue without a name', { queue: `''` }, 'queue: not a name'],
  ['a queue that is no name', { queue: `E'a\\u001b[31m \\u202e"<b>'` }, 'queue: not a name'],
  ['an empty key', { key: `''` }, 'key: empty'],
  ['a correlation id of 3.8 KB', { correlation_id: random }, 'correlationId: longer than 256 bytes'],
  ['a priority beyond all others', { priority: '32767' }, 'priority: 32767'],
  [
    'numbers at their ends',
    { attempt: '2147483647', max_attempts: '-2147483648', epoch: '2147483647', version: '-32768' },
    'maxAttempts: -2147483648',
  ],
  ['options that are a number', { options: `'5'` }, 'options: not { timeoutMs, crashLimit }'],
  [
    'a timeout that is a text',
    { options: `'{"timeoutMs":"abc"}'` },
    'options: not { timeoutMs, crashLimit }',
  ],
  ['progress that is a list', { progress: `'[1]'` }, 'progress: not { percent, note, at }'],
  ['progress without an end', { progress: `'{"percent":1e400,"note":{},"at":[]}'` }, 'progress: not'],
  ['failures that are a text', { failures: `'"x"'` }, undefined],
  ['an input deeper than any other', { input: `(repeat('[', 900) || repeat(']', 900))::jsonb` }, undefined],
  ['the last id of all', { id: `'ffffffff-ffff-ffff-ffff-ffffffffffff'` }, undefined],
  ['the first id of all', { id: `'00000000-0000-0000-0000-000000000000'` }, undefined],
  ['an id of no version', { id: `'deadbeef-dead-dead-dead-deaddeaddead'` }, undefined],
]

/** And of a dead letter's own columns. */
const dead: [about: string, values: Record<string, string>, broken: string | undefined][] = [
  ...(['5', '"x"', '[null]', 'null', '{}'] as const).map((json): (typeof live)[number] => [
    `an error that is ${json}`,
    { error: `'${json}'` },
    undefined,
  ]),
  [
    'an error of other shapes',
    { error: `'{"name":5,"message":{},"causes":"x","stack":[],"fingerprint":7,"class":null}'` },
    undefined,
  ],
  ['causes that are none', { error: `'{"causes":[null,5,{"name":[]}]}'` }, undefined],
  ['an error name of a megabyte', { error: `jsonb_build_object('name', repeat('n', 1048576))` }, undefined],
  ['a death in the year 294276', { died_at: far }, 'finishedAt: 294276-12-31'],
  ['a death that is infinite', { died_at: "'infinity'", fingerprint: `''` }, 'finishedAt: infinity'],
  ['a reason that is none', { reason: `repeat('r', 1048576)` }, undefined],
  ['search words that are null', { search: 'array[null]::text[]' }, 'search: a word is not name:value'],
  ['an empty key', { key: `''` }, 'key: empty'],
  ['the last id of all', { id: `'ffffffff-ffff-ffff-ffff-fffffffffffe'` }, undefined],
]

interface Planted {
  about: string
  id: string
  broken: string | undefined
}

async function plantAll(): Promise<{ live: Planted[]; dead: Planted[] }> {
  const planted: { live: Planted[]; dead: Planted[] } = { live: [], dead: [] }
  for (const [n, [about, values, broken]] of live.entries()) {
    const own = values['id']?.slice(1, -1) ?? id(n)
    await plant(db, 'job', { id: `'${own}'`, queue: `'q${n}'`, kind: `'k'`, ...values })
    planted.live.push({ about, id: own, broken })
  }
  const rest = {
    ...{ created_at: 'now()', run_at: 'now()', epoch: '1', attempt: '1', max_attempts: '1', crashes: '0' },
    ...{ priority: '0', version: '1', queue: `'q'`, kind: `'k'`, reason: `'exhausted'` },
  }
  for (const [n, [about, values, broken]] of dead.entries()) {
    const own = values['id']?.slice(1, -1) ?? id(1_000 + n)
    await plant(db, 'dead', { ...rest, id: `'${own}'`, ...values })
    planted.dead.push({ about, id: own, broken })
  }
  return planted
}

test('rows with values that Stint never stores are listed and shown, named as broken, and can be removed', async () => {
  const planted = await plantAll()
  const all = [...planted.live, ...planted.dead]
  const served = openConsole(db.url)
  const stint = openStint(db.url)
  const get = (path: string): Promise<Answer> => call(served, `GET /v1/${path}`, { token })

  const ids: string[] = []
  for (let cursor = ''; ;) {
    const { status, body, text } = await get(`jobs?limit=7${cursor}`)
    expect(status, text.slice(0, 500)).toBe(200)
    expect(text.length).toBeLessThan(100_000)
    ids.push(...(body['items'] as { id: string }[]).map((item) => item.id))
    if (body['next'] === null) break
    cursor = `&cursor=${body['next'] as string}`
  }
  expect(ids.sort()).toEqual(all.map((one) => one.id).sort())

  const looks = [
    ...[
      'jobs?where=state:dead',
      'jobs?where=state:ready,waiting',
      'jobs?where=queue:q',
      'jobs?where=kind:k*',
    ],
    ...[
      'jobs?where=age%3E1s',
      'jobs?where=state:scheduled,retrying',
      'overview',
      'queues',
      'queues/q',
      'stats',
    ],
    ...['metrics', 'workers', 'system', 'kinds', 'error-groups', 'operations', 'schedules', 'audit'],
  ]
  for (const path of looks) {
    const { status, text } = await get(path)
    expect(status, `${path}: ${text.slice(0, 500)}`).toBe(200)
  }
  for (const { about, id: one, broken } of all) {
    for (const part of ['', '/attempts', '/logs', '/lineage']) {
      const { status, text } = await get(`jobs/${one}${part}`)
      expect(status, `${about}${part}: ${text.slice(0, 500)}`).toBe(200)
    }
    const { body } = await get(`jobs/${one}`)
    const said = (body['broken'] as string[]).join(', ')
    if (broken === undefined) expect(said, about).toBe('')
    else expect(said, about).toContain(broken)
    const listed = (await stint.search({ where: `id:${one}` })).jobs
    expect(listed.map((job) => job.id)).toEqual([one])
  }
  expect((await stint.list({ limit: 200 })).jobs.map((job) => job.id).sort()).toEqual(ids)
  expect((await stint.dead.list({ limit: 200 })).dead).toHaveLength(dead.length)

  for (const line of [
    'job list --limit 200',
    'job list -o json',
    'dead list',
    'dead list -o json',
    'status',
    'stats',
  ]) {
    const { code, stdout, stderr } = await runStint(line.split(' '), db.url)
    expect(code, `${line}: ${stderr}`).toBe(0)
    if (line.startsWith('job list --')) expect(stdout).toContain('ready (invalid row)')
    expect(stdout.length).toBeLessThan(300_000)
  }
  const doctor = await runStint(['doctor'], db.url)
  expect(doctor.stdout + doctor.stderr).not.toContain('could not be made')
  const page = await runStint(['job', 'get', id(4)], db.url)
  expect(page.stdout).toContain('This row has invalid values: runAt: infinity')

  for (const { about, id: one } of planted.live) {
    const { status, text, body } = await call(served, `POST /v1/jobs/${one}/cancel`, { token, json: {} })
    expect(status, `${about}: ${text.slice(0, 500)}`).toBe(200)
    expect(body['state']).toBe('cancelled')
  }
  for (const { about, id: one } of planted.dead) {
    const { status, text } = await call(served, `POST /v1/jobs/${one}/discard`, { token, json: {} })
    expect(status, `${about}: ${text.slice(0, 500)}`).toBe(200)
    const restored = await runStint(['dead', 'restore', one], db.url)
    expect(restored.code, `${about}: ${restored.stderr}`).toBe(0)
  }
  // History and the trash are readable too.
  expect((await get('jobs?limit=200')).status).toBe(200)
})

test('an operation acts on rows with values that Stint never stores', async () => {
  await db.query('truncate stint.job, stint.dead, stint.finished')
  const planted = await plantAll()
  const served = openConsole(db.url)
  const stint = openStint(db.url)
  const worker = await startOperationsWorker({ connection: db.url })
  onTestFinished(() => worker.stop())
  const operations = [
    { action: 'cancel', where: 'state:scheduled,waiting,ready,retrying', of: planted.live },
    { action: 'discard', where: 'state:dead', of: planted.dead },
  ] as const
  for (const { action, where, of } of operations) {
    const wanted = { token, json: { action, where, dryRun: true } }
    const preview = await call(served, 'POST /v1/operations', wanted)
    expect(preview.status, preview.text).toBe(200)
    expect(preview.body['matched']).toEqual({ count: of.length, exact: true })
    const { id: started } = await stint.operations.start({ action, where, reason: 'broken rows' })
    await eventually(async () => (await stint.operations.get(started))?.state === 'done', action)
    const { jobs } = await stint.operations.jobs(started)
    const left = jobs.filter(({ outcome }) => outcome !== 'acted')
    expect(left).toEqual([])
    expect(jobs).toHaveLength(of.length)
  }
})
