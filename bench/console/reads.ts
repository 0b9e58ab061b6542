/*
 * How long the read-only routes of the console take with 2 million live jobs, 2 million finished ones, 50,000 dead letters,
 * 20 workers with 5,000 jobs in hand, and a day of figures of 20 queues: each asked of a console that has just started,
 * which remembers nothing, and then again; the slowest counts. And how many connections that takes.
 *
 *   npm run build && node --import tsx bench/console/reads.ts [millions]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { Stint } from '../../src/client/stint.ts'
import { startEmbedded } from '../../src/embedded/start.ts'
import { createConsole } from '../../src/server/console.ts'

const millions = Number(process.argv[2] ?? 2)
const rows = Math.round(millions * 1_000_000)
const dead = Math.round(millions * 25_000)
const limitMs = 300
const times = 5

const ago = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString()
const paths = [
  '/v1/overview',
  '/v1/queues',
  '/v1/queues/queue-3',
  '/v1/queues/billing',
  '/v1/stats?step=1m',
  `/v1/stats?from=${ago(1)}&step=1m`,
  `/v1/stats?from=${ago(6)}&step=5m`,
  `/v1/stats?from=${ago(24)}&step=15m`,
  `/v1/stats?from=${ago(7 * 24)}&step=2h`,
  `/v1/stats?from=${ago(24)}&step=15m&queue=queue-3`,
  '/v1/workers',
  '/v1/leases',
  '/v1/system',
  '/v1/kinds',
  '/metrics',
]

const dir = await mkdtemp(join(tmpdir(), 'stint-reads-'))
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
  // It ends with the server, also when something went wrong before.
  db.on('error', () => undefined)
  await db.connect()
  await fill(db)
  let isFine = true
  for (const [name, prepare] of Object.entries({
    'never analyzed': () => Promise.resolve(),
    analyzed: () => db.query('vacuum analyze'),
  })) {
    await prepare()
    // As a living worker would have them.
    await db.query(`update stint.worker set renewed_at = now(), lease_until = now() + interval '1 hour'`)
    console.log(`\n${rows} live, ${rows} finished, ${dead} dead, ${name}; ms: first of a console, again`)
    for (const path of paths) isFine = (await measure(path)) && isFine
    isFine = (await measureStream()) && isFine
    const connections = await measureConnections(db)
    console.log(`${connections} connections at most, with 50 requests at once and a stream`)
    isFine = isFine && connections <= 4
  }
  await db.end()
  if (!isFine) process.exitCode = 1
} finally {
  await server.release()
  await rm(dir, { recursive: true, force: true })
}

function open(): ReturnType<typeof createConsole> {
  return createConsole({ connection: server.url, insecure: true })
}

async function timed(served: ReturnType<typeof open>, path: string): Promise<number> {
  const start = performance.now()
  const response = await served.fetch(new Request(`http://console.test${path}`))
  const text = await response.text()
  const took = performance.now() - start
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`)
  return took
}

async function measure(path: string): Promise<boolean> {
  const [first, again]: [number[], number[]] = [[], []]
  for (let n = 0; n < times; n++) {
    const served = open()
    // The connection is made before.
    await timed(served, '/v1/health/ready')
    first.push(await timed(served, path))
    // Past what all share.
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    again.push(await timed(served, path))
    await served.close()
  }
  return tell(path, first, again)
}

function tell(what: string, first: number[], again: number[]): boolean {
  const median = (all: number[]): string =>
    (all.sort((a, b) => a - b)[all.length >> 1] ?? 0).toFixed(0).padStart(5)
  const slowest = Math.max(...first, ...again)
  const mark = slowest > limitMs ? '  TOO SLOW' : ''
  console.log(`${median(first)}${median(again)}  at worst ${slowest.toFixed(0).padStart(5)}  ${what}${mark}`)
  return slowest <= limitMs
}

/** Until a viewer is shown all it asked for. */
async function measureStream(): Promise<boolean> {
  const first: number[] = []
  for (let n = 0; n < times; n++) {
    const served = open()
    await timed(served, '/v1/health/ready')
    const start = performance.now()
    const response = await served.fetch(
      new Request('http://console.test/v1/events?topics=overview,workers,queue:queue-3'),
    )
    const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader()
    for (let shown = 0; shown < 3;) {
      const { value } = await reader.read()
      shown += new TextDecoder().decode(value).split('event: snapshot').length - 1
    }
    first.push(performance.now() - start)
    await reader.cancel()
    await served.close()
  }
  return tell('/v1/events, three topics shown', first, first)
}

async function measureConnections(db: pg.Client): Promise<number> {
  const served = open()
  const stream = await served.fetch(new Request('http://console.test/v1/events?topics=overview,workers'))
  let most = 0
  let isDone = false
  const all = Promise.all(
    Array.from({ length: 50 }, (_, n) => timed(served, paths[n % paths.length] ?? '')),
  ).then(
    () => (isDone = true),
    () => (isDone = true),
  )
  while (!isDone) {
    const { rows: found } = await db.query<{ n: number }>(
      `select count(*)::integer as n from pg_stat_activity where datname = current_database() and application_name in ('stint', 'stint listen')`,
    )
    most = Math.max(most, found[0]?.n ?? 0)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  await all
  await stream.body?.cancel()
  await served.close()
  return most
}

async function fill(db: pg.Client): Promise<void> {
  const id = (n: string): string =>
    `(lpad(to_hex((extract(epoch from now()) * 1000)::bigint - 86400000 + ${n}), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') || '8000' || lpad(to_hex(n), 12, '0'))::uuid`
  const kind = `case n % 3 when 0 then 'charge.capture' when 1 then 'charge.refund' else 'mail.send' end`
  await db.query(
    `insert into stint.worker (id, lease_until, about, rss_bytes)
     select ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, now() + interval '1 hour',
            jsonb_build_object('host', 'host-' || n, 'pid', n, 'version', 'v' || n % 3, 'kinds', '["charge.capture", "mail.send"]'::jsonb,
                               'queues', (select jsonb_object_agg('queue-' || q, 20) from generate_series(0, 19) as q)), 1e8
       from generate_series(0, 19) as n`,
  )
  await db.query(
    `insert into stint.finished (id, created_at, run_at, started_at, finished_at, state, epoch, attempt, max_attempts, crashes,
                                 priority, version, queue, kind, key, input, result)
     select ${id('n')}, now() - interval '1 day' + n * interval '20 milliseconds', now(), now(), now(), 'succeeded', 1, 1, 5, 0, 0, 1,
            'queue-' || n % 20, ${kind}, 'key-' || n % 5000, jsonb_build_object('n', n, 'text', repeat('x', 100)), '{"ok": true}'
       from generate_series(1, ${rows}) as n`,
  )
  await db.query(
    `insert into stint.job (id, created_at, run_at, state, priority, queue, kind, key, input, lease_id, worker_id, started_at)
     select ${id(`${rows} + n`)}, now() - interval '1 hour' + n * interval '1 millisecond', now(),
            (case when n % 400 = 0 then 'running' when n % 50000 = 1 then 'retrying' when n % 20 = 2 then 'scheduled' else 'ready' end)::stint.job_state,
            0, 'queue-' || n / 7 % 20, ${kind}, case when n % 2 = 1 then 'key-' || n % 5000 end,
            jsonb_build_object('n', n, 'text', repeat('x', 100)),
            case when n % 400 = 0 then gen_random_uuid() end,
            case when n % 400 = 0 then ('00000000-0000-4000-8000-' || lpad((n / 400 % 20)::text, 12, '0'))::uuid end, now()
       from generate_series(1, ${rows}) as n`,
  )
  await db.query(
    `insert into stint.dead (id, created_at, run_at, died_at, epoch, attempt, max_attempts, crashes, priority, version, queue,
                             kind, key, search, input, reason, error, fingerprint)
     select ${id(`n * ${Math.floor((2 * rows) / dead)} + 7`)}, now() - interval '1 day', now(), now(), 5, 5, 5, 0, 0, 1,
            case when n % 2 = 0 then 'billing' else 'queue-' || n % 20 end, ${kind}, 'key-' || n % 500,
            array['country:IT'], '{"n": 1}', 'exhausted',
            jsonb_build_object('name', 'CardDeclined', 'message', 'do not honor ' || n, 'stack', repeat('at x', 300)), lpad(to_hex(n % 200), 16, 'a')
       from generate_series(1, ${dead}) as n`,
  )
  // Two hours as 20 processes wrote them, and a week as it was rolled up.
  const bins = `(select jsonb_object_agg(b::text, 10) from generate_series(100, 125) as b)`
  await db.query(
    `insert into stint.stat_minute (minute, queue, kind, process, flush, enqueued, started, succeeded, failed, wait, run)
     select date_trunc('minute', now()) - m * interval '1 minute', 'queue-' || q, 'kind-' || q % 3,
            ('00000000-0000-4000-8000-' || lpad(p::text, 12, '0'))::uuid, 1, 250, 260, 250, 10, ${bins}, ${bins}
       from generate_series(0, 119) as m, generate_series(0, 19) as q, generate_series(0, 19) as p where (p + q) % 4 = 0`,
  )
  await db.query(
    `insert into stint.stat_minute (minute, queue, kind, process, flush, enqueued, started, succeeded, failed, wait, run)
     select date_trunc('minute', now()) - m * interval '1 minute', 'queue-' || q, 'kind-' || q % 3,
            '00000000-0000-0000-0000-000000000000', 1, 250, 260, 250, 10, ${bins}, ${bins}
       from generate_series(120, 10079) as m, generate_series(0, 19) as q`,
  )
  await db.query(
    `insert into stint.stat_hour (hour, queue, kind, enqueued, started, succeeded, failed, dead, lease_expired, refused, cancelled,
                                  snoozed, released, crashed, attempts, wait, run)
     select date_trunc('hour', now()) - h * interval '1 hour', 'queue-' || q, 'kind-' || q % 3, 9, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, ${bins}, ${bins}
       from generate_series(2, 168) as h, generate_series(0, 19) as q`,
  )
  await db.query(
    `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job)
     select lpad(to_hex(n), 16, '0'), 'charge.capture', 'transient', 'CardDeclined', 'no ' || n, 'no', now(), now(), gen_random_uuid()
       from generate_series(0, 199) as n`,
  )
  await db.query(
    `insert into stint.error_hour (fingerprint, hour, process, flush, failures, deaths)
     select lpad(to_hex(n), 16, '0'), date_trunc('hour', now()) - h * interval '1 hour', gen_random_uuid(), 1, 3, 3
       from generate_series(0, 199) as n, generate_series(0, 99) as h`,
  )
}
