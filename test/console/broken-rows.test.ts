import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startOperationsWorker } from '../../src/worker/operations-worker.ts'
import { runStint } from '../support/cli.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { eventually } from '../support/workers.ts'
import { dropChecks, plant } from '../support/planted-rows.ts'
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

/** Values that the types of a job's columns allow, each with the text that names it as broken. */
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
  ['options that are a number', { options: `'5'` }, 'options: not { timeoutMs, crashLimit, fireAt }'],
  [
    'a timeout that is a text',
    { options: `'{"timeoutMs":"abc"}'` },
    'options: not { timeoutMs, crashLimit, fireAt }',
  ],
  ['progress that is a list', { progress: `'[1]'` }, 'progress: not { percent, note, at }'],
  ['progress without an end', { progress: `'{"percent":1e400,"note":{},"at":[]}'` }, 'progress: not'],
  ['failures that are a text', { failures: `'"x"'` }, undefined],
  ['an input deeper than any other', { input: `(repeat('[', 900) || repeat(']', 900))::jsonb` }, undefined],
  ['the last id of all', { id: `'ffffffff-ffff-ffff-ffff-ffffffffffff'` }, undefined],
  ['the first id of all', { id: `'00000000-0000-0000-0000-000000000000'` }, undefined],
  ['an id of no version', { id: `'deadbeef-dead-dead-dead-deaddeaddead'` }, undefined],
]

/** The same for a dead letter's own columns. */
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
    created_at: 'now()',
    run_at: 'now()',
    epoch: '1',
    attempt: '1',
    max_attempts: '1',
    crashes: '0',
    priority: '0',
    version: '1',
    queue: `'q'`,
    kind: `'k'`,
    reason: `'exhausted'`,
  }
  for (const [n, [about, values, broken]] of dead.entries()) {
    const own = values['id']?.slice(1, -1) ?? id(1_000 + n)
    await plant(db, 'dead', { ...rest, id: `'${own}'`, ...values })
    planted.dead.push({ about, id: own, broken })
  }
  return planted
}

test('rows with values that Stint never stores are listed, shown and named as broken, and can be removed', async () => {
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

const shapes = ['null', '5', '"x"', '[]', '[null, 5]', '{}', '{"a":1e400,"b":{},"c":null}']

test('JSON of any shape in rows of workers, gauges, errors and operations breaks no screen', async () => {
  await db.query('truncate stint.job, stint.dead, stint.finished, stint.operation, stint.audit')
  const far = ["'infinity'", "'-infinity'", "'294276-12-31'", "'4713-01-01 BC'"]
  for (const [n, shape] of [
    ...shapes,
    '{"host":{},"pid":"x","version":[],"queues":{"q":"x","r":[]},"kinds":[null,{"a":1}]}',
    '{"queues":[1],"kinds":"x","percent":"x","sameError":[],"stopIf":5,"max":"x","decided":null}',
  ].entries()) {
    const json = `'${shape}'`
    const time = far[n % far.length] ?? ''
    await plant(db, 'worker', {
      id: 'gen_random_uuid()',
      about: json,
      lease_until: time,
      renewed_at: time,
      started_at: time,
    })
    await plant(db, 'job', {
      id: `'${id(n)}'`,
      queue: `'q'`,
      kind: `repeat('k', 1000000)`,
      state: `'running'`,
      progress: json,
      lease_id: 'gen_random_uuid()',
      worker_id: 'gen_random_uuid()',
      started_at: time,
    })
    await plant(db, 'queue_gauge', {
      queue: `'gauge.${n}'`,
      ready: '1',
      running: '1',
      scheduled: '1',
      retrying: '1',
      waiting: '1',
      oldest_ready_at: time,
      kinds: json,
      priorities: json,
      top_keys: json,
    })
    await plant(db, 'error_group', {
      fingerprint: `'0000000${n}'`,
      kind: `'k'`,
      class: `'x'`,
      name: `''`,
      title: `''`,
      message: `''`,
      first_seen: time,
      last_seen: time,
      resolved_at: time,
      ignored_until: time,
      regressed_at: time,
      versions: json,
      sample_job: `'${id(n)}'`,
    })
    await plant(db, 'error_hour', {
      fingerprint: `'0000000${n}'`,
      hour: time,
      process: 'gen_random_uuid()',
      flush: '1',
      failures: '9223372036854775807',
      deaths: '-9223372036854775808',
    })
    await plant(db, 'operation', {
      id: `'${id(n)}'`,
      action: `'replay'`,
      filter: `'"'`,
      as_of: time,
      settings: json,
      job_id: `'${id(n)}'`,
      skipped_by: json,
      canary_result: json,
      canary_at: time,
      reason: `''`,
      actor: `''`,
      origin: `'x'`,
      created_at: time,
      started_at: time,
      finished_at: time,
    })
    await plant(db, 'audit', {
      id: n === 0 ? `'ffffffff-ffff-ffff-ffff-ffffffffffff'` : 'gen_random_uuid()',
      at: time,
      actor: `''`,
      origin: `'x'`,
      action: `''`,
      target: `''`,
      outcome: `'x'`,
      before: json,
      after: json,
    })
  }
  await db.query('update stint.gauge_refresh set refreshed_at = now()')
  const served = openConsole(db.url)
  const stint = openStint(db.url)
  const paths = [
    ...[
      'overview',
      'workers',
      'leases',
      'queues',
      'queues/gauge.0',
      'queues/gauge.7',
      'metrics',
      'stats',
      'system',
    ],
    ...['kinds', 'error-groups', 'operations?limit=200', 'audit?limit=200', 'jobs?where=state:running'],
    ...shapes.flatMap((_, n) => [
      `error-groups/0000000${n}`,
      `operations/${id(n)}`,
      `operations/${id(n)}/jobs`,
    ]),
  ]
  for (const path of paths) {
    const { status, text } = await call(served, `GET /v1/${path}`, { token })
    expect(status, `${path}: ${text.slice(0, 500)}`).toBe(200)
    expect(text.length, path).toBeLessThan(200_000)
  }
  const { body } = await call(served, 'GET /v1/audit?limit=200', { token })
  expect(body['items']).toHaveLength(shapes.length + 2)
  // The rows that the live stream reads.
  expect(await stint.view.jobs(shapes.map((_, n) => id(n)))).toHaveLength(shapes.length)
  expect(await stint.view.operations(shapes.map((_, n) => id(n)))).toHaveLength(shapes.length)
  for (const line of ['status', 'stats', 'op list', 'error list', 'audit list', `op get ${id(8)}`]) {
    const { code, stderr } = await runStint(line.split(' '), db.url)
    expect(code, `${line}: ${stderr}`).toBe(0)
  }
  const { findings } = await stint.doctor()
  expect(findings.filter(({ level }) => level === 'unknown')).toEqual([])
})
