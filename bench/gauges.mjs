// What a refresh of the gauges costs the database, and which part of it: src/numbers/gauges.ts on a table of many jobs.
//   npm run build && DATABASE_URL=postgres://…/scratch node bench/gauges.mjs [rows, default 5,000,000]
// Makes and drops the schema `gauges_bench` there. Time is by the wall clock of the server; where the server runs on this
// machine also by the processor, which does not count what else the machine does.
import { readFileSync } from 'node:fs'
import { Stint } from '../dist/entry/index.js'
import { Database } from '../dist/db/database.js'
import { Gauges } from '../dist/numbers/gauges.js'

const rows = Number(process.argv[2] ?? 5_000_000)
const url = process.env.DATABASE_URL
const schema = 'gauges_bench'
const db = new Database({ url, schema, poolSize: 1, deadlineMs: 600_000, applicationName: 'gauges bench' })
const query = (text, values = []) => db.query(text, values)

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
const ms = (value) => value.toFixed(1)

/** What the backend has used of the processor, in ms. */
function cpuOf(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return Number.NaN
  }
}

await query(`drop schema if exists ${schema} cascade`)
const stint = new Stint({ connection: url, schema })
await stint.migrate()
try {
  // Without a key: a queue with two priorities and two kinds; with keys; scheduled and retrying; waiting; many small queues.
  await query(
    `insert into ${schema}.job (id, queue, kind, state, priority, run_at, input)
     select gen_random_uuid(), 'bulk', case when n % 4 = 0 then 'rare' else 'usual' end, 'ready',
            case when n % 10 = 0 then 5 else 0 end, now() - interval '1 h' + n * interval '1 microsecond', '{"a": "some input"}'
       from generate_series(1, $1::bigint) as n`,
    [Math.round(rows * 0.9)],
  )
  await query(
    `insert into ${schema}.job (id, queue, kind, state, key, run_at, input)
     select gen_random_uuid(), 'keyed', 'work', 'ready', case when n % 2 = 0 then 'big' else 'k' || n % 5000 end, now(), '{}'
       from generate_series(1, $1::bigint) as n`,
    [Math.round(rows * 0.1)],
  )
  await query(
    `insert into ${schema}.job (id, queue, kind, state, run_at, input)
     select gen_random_uuid(), 'later', 'work', (array['scheduled', 'retrying', 'waiting']::${schema}.job_state[])[1 + n % 3],
            now() + n * interval '1 second', '{}'
       from generate_series(1, 30000) as n`,
  )
  await query(
    `insert into ${schema}.job (id, queue, kind, priority, run_at, input)
     select gen_random_uuid(), 'small.' || n % 30, 'k', n % 3, now(), '{}' from generate_series(1, 6000) as n`,
  )
  const [{ size }] = await query(`select pg_size_pretty(pg_relation_size('${schema}.job')) as size`)
  console.log(`${rows} ready jobs, the table has ${size}`)

  const [{ pid }] = await query('select pg_backend_pid() as pid')
  for (const analyzed of [false, true]) {
    if (analyzed) await query(`vacuum analyze ${schema}.job`)
    const parts = new Map()
    const timed = {
      schema,
      query: async (text, values) => {
        const since = performance.now()
        const cpuBefore = cpuOf(pid)
        const answer = await db.query(text, values)
        const name = /gauge-probe|gauge-sample|write-gauges/.exec(text)?.[0] ?? 'other'
        const part = parts.get(name) ?? parts.set(name, { wall: [], cpu: 0 }).get(name)
        part.wall.push(performance.now() - since)
        part.cpu += cpuOf(pid) - cpuBefore
        return answer
      },
    }
    const gauges = new Gauges()
    const took = []
    for (let n = 0; n < 51; n++) {
      await gauges.refresh(timed)
      const [row] = await query(`select took_ms as took from ${schema}.gauge_refresh`)
      took.push(row.took)
      if (n > 0) continue
      console.log(
        `${analyzed ? 'vacuumed and analyzed' : 'as inserted, no statistics'}: the first, which counts to its caps: ${ms(row.took)} ms`,
      )
      parts.clear()
      took.length = 0
    }
    console.log(
      `  the next 50: ${ms(Math.min(...took))} at best, ${ms(median(took))} in the middle, ${ms(Math.max(...took))} at worst (ms, by the server)`,
    )
    for (const [name, { wall, cpu }] of parts)
      console.log(
        `  ${name}: ${ms(median(wall))} ms by the client's clock, ${ms(cpu / wall.length)} ms of processor`,
      )
  }
  const queues = (await stint.gauges()).filter(({ queue }) => !queue.startsWith('small.'))
  for (const { queue, ready, scheduled, retrying, waiting, estimated } of queues)
    console.log(queue, { ready, scheduled, retrying, waiting, estimated: estimated.join(' ') })
} finally {
  await stint.close()
  await query(`drop schema ${schema} cascade`)
  await db.close()
}
