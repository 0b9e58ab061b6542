/*
 * How long a search takes with 2 million live jobs, 2 million finished ones and 50,000 dead letters: each filter that a
 * person would write, asked as the console asks it, ten times; the slowest counts.
 *
 *   npm run build && node --import tsx bench/console/search.ts [millions]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbedded } from '../../src/embedded/start.ts'
import { Stint } from '../../src/client/stint.ts'

const millions = Number(process.argv[2] ?? 2)
const rows = Math.round(millions * 1_000_000)
const dead = Math.round(millions * 25_000)
const limitMs = 300

const filters = [
  '',
  'state:ready',
  'state:running',
  'state:retrying',
  'state:scheduled',
  'state:waiting',
  'state:succeeded',
  'state:cancelled',
  'state:dead',
  'queue:queue-3',
  'queue:queue-3 state:ready',
  'queue:quiet',
  'queue:nobody',
  'kind:charge.*',
  'kind:nothing.*',
  'key:key-77',
  'key:nobody',
  'correlation:order-500',
  'worker:00000000-0000-4000-8000-000000000001',
  'input.country:BR',
  'priority:7',
  'age>1h',
  'age<10m state:ready',
  'age>10d',
  'state:dead queue:billing',
  'state:dead kind:charge.*',
  'state:dead key:key-77',
  'state:dead input.country:BR',
  'error:b02c',
  'error:b02c kind:mail.send input.country:BR',
  'state:dead reason:permanent',
  'is:discarded',
  'state:dead age>1h',
  'id:019a8c3e-7c1b-7d5e-9f4e-2a6b0c1d2e3f',
]

const dir = await mkdtemp(join(tmpdir(), 'stint-search-'))
const server = await startEmbedded({
  dir,
  fsync: 'off',
  settings: { shared_buffers: '512MB', max_wal_size: '4GB' },
})
try {
  const stint = new Stint({ connection: server.url })
  await stint.migrate()
  await stint.close()
  const db = new pg.Client(server.url)
  await db.connect()
  await fill(db)
  let isFine = true
  for (const [name, prepare] of Object.entries({
    'never analyzed': async () => undefined,
    analyzed: () => db.query('vacuum analyze'),
  })) {
    await prepare()
    console.log(`\n${rows} live, ${rows} finished, ${dead} dead, ${name}`)
    // As the console is: few connections, each call within limits of its own.
    const client = new Stint({
      ...{ connection: server.url, poolSize: 4, timeout: '1s', poolWait: '1s' },
      ...{ statementTimeout: '3s', lockTimeout: '250ms' },
    })
    for (const where of filters) isFine = (await measure(client, where)) && isFine
    await measurePreview(client)
    await client.close()
  }
  await db.end()
  if (!isFine) process.exitCode = 1
} finally {
  await server.release()
  await rm(dir, { recursive: true, force: true })
}

async function measure(stint: Stint, where: string): Promise<boolean> {
  const times: number[] = []
  let found = 0
  let looked = 0
  for (let n = 0; n < 10; n++) {
    const start = performance.now()
    const page = await stint.search({ where, limit: 50 })
    times.push(performance.now() - start)
    found = page.jobs.length
    looked = page.looked.rows
  }
  times.sort((a, b) => a - b)
  const slowest = times.at(-1) ?? 0
  const median = times[5] ?? 0
  const mark = slowest > limitMs ? '  TOO SLOW' : ''
  const cells = [
    median.toFixed(0).padStart(6),
    slowest.toFixed(0).padStart(6),
    String(found).padStart(4),
    String(looked).padStart(7),
  ]
  console.log(`${cells.join('')}  ${where === '' ? '(all)' : where}${mark}`)
  return slowest <= limitMs
}

async function measurePreview(stint: Stint): Promise<void> {
  for (const where of ['queue:billing', 'state:dead', 'error:b02c']) {
    const start = performance.now()
    const { matched } = await stint.operations.preview({ action: 'replay', where })
    console.log(
      `${(performance.now() - start).toFixed(0).padStart(6)}  preview of ${where}: ${matched.count}${matched.isExact ? '' : '+'}`,
    )
  }
}

/** In the order of making: live ones are the newest, dead letters are spread over all. */
async function fill(db: pg.Client): Promise<void> {
  const id = (n: string): string =>
    `(lpad(to_hex((extract(epoch from now()) * 1000)::bigint - 86400000 + ${n}), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') || '8000' || lpad(to_hex(n), 12, '0'))::uuid`
  const common = `'queue-' || n % 20, case n % 3 when 0 then 'charge.capture' when 1 then 'charge.refund' else 'mail.send' end`
  await db.query(
    `insert into stint.finished (id, created_at, run_at, started_at, finished_at, state, epoch, attempt, max_attempts, crashes,
                                 priority, version, queue, kind, key, correlation_id, input, result)
     select ${id('n')}, now() - interval '1 day' + n * interval '20 milliseconds', now(), now(), now(),
            (case when n % 1000 = 0 then 'cancelled' else 'succeeded' end)::stint.job_state, 1, 1, 5, 0, 0, 1, ${common},
            'key-' || n % 5000, case when n % 10 = 0 then 'order-' || n % 100000 end,
            jsonb_build_object('n', n, 'text', repeat('x', 100)), '{"ok": true}'
       from generate_series(1, ${rows}) as n`,
  )
  await db.query(
    `insert into stint.job (id, created_at, run_at, state, priority, queue, kind, key, input, lease_id, worker_id)
     select ${id(`${rows} + n`)}, now() - interval '1 hour' + n * interval '1 millisecond', now(),
            (case when n % 40000 = 0 then 'running' when n % 50000 = 1 then 'retrying' when n % 20 = 2 then 'scheduled' else 'ready' end)::stint.job_state,
            0, case when n % 100000 = 3 then 'quiet' else 'queue-' || n % 20 end,
            case n % 3 when 0 then 'charge.capture' when 1 then 'charge.refund' else 'mail.send' end,
            case when n % 2 = 0 then 'key-' || n % 5000 end,
            jsonb_build_object('n', n, 'text', repeat('x', 100)),
            case when n % 40000 = 0 then gen_random_uuid() end, case when n % 40000 = 0 then '00000000-0000-4000-8000-000000000001'::uuid end
       from generate_series(1, ${rows}) as n`,
  )
  await db.query(
    `insert into stint.dead (id, created_at, run_at, died_at, epoch, attempt, max_attempts, crashes, priority, version, queue,
                             kind, key, search, input, reason, error, fingerprint)
     select ${id(`n * ${Math.floor((2 * rows) / dead)} + 7`)}, now() - interval '1 day', now(), now(), 5, 5, 5, 0, 0, 1,
            case when n % 2 = 0 then 'billing' else 'queue-' || n % 20 end,
            case n % 3 when 0 then 'charge.capture' when 1 then 'charge.refund' else 'mail.send' end, 'key-' || n % 500,
            array['country:' || case n % 50 when 0 then 'BR' else 'IT' end], '{"n": 1}', 'exhausted',
            jsonb_build_object('name', 'CardDeclined', 'message', 'do not honor ' || n, 'stack', repeat('at x', 300)),
            case when n % 5 = 0 then 'b02c9e51b02c9e51' else lpad(to_hex(n % 200), 16, 'a') end
       from generate_series(1, ${dead}) as n`,
  )
}
