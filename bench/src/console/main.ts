/*
 * How long the console takes to answer every request of a screen, with 2 million live jobs, 2 million finished ones and
 * 50,000 dead letters: right after loading, when the planner has no statistics, and vacuumed and analyzed. And how many
 * connections that takes.
 *
 *   npm run bench -- console [--millions 2] [--only 'overview;system'] [--no-write] [--page file] [--url postgres://…]
 *
 * `--url` names a database that an earlier run has filled, or an empty one, which is filled and kept. A filled one is
 * measured as it is, or with `--analyze` analyzed; with `--page` both, if it is not analyzed yet.
 */
import { loadavg } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { writeSection } from '../page.ts'
import { startPostgres } from '../servers/postgres.ts'
import { describeMachine } from '../surroundings.ts'
import { alignedTable } from '../table.ts'
import { fill, fillFigures, setWorkers, sizeOf } from './fill.ts'
import type { Size } from './fill.ts'
import { measure, measureCrowd, measureStream } from './measure.ts'
import type { Condition, Took } from './measure.ts'
import { requests } from './requests.ts'
import { cellsOf, isTooSlow, sectionOf } from './section.ts'
import { loadStint } from './stint.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const { values } = parseArgs({
  allowPositionals: true,
  options: {
    millions: { type: 'string', default: '2' },
    only: { type: 'string' },
    'no-write': { type: 'boolean', default: false },
    page: { type: 'string' },
    url: { type: 'string' },
    analyze: { type: 'boolean', default: false },
  },
})
const size = sizeOf(Number(values.millions))
const { server, refreshGauges } = await loadStint()
const surroundings = describeMachine()
const postgres = values.url === undefined ? await startPostgres() : undefined
// The channel to run.mjs closes with this process; the guard ends the server with it.
process.once('disconnect', () => process.exit(130))
try {
  await postgres?.recreate('console')
  process.exitCode = await main(values.url ?? postgres?.url('console') ?? '')
} finally {
  await postgres?.stop()
}
process.exit()

async function main(url: string): Promise<number> {
  const db = new pg.Client({ connectionString: url, statement_timeout: 600_000 })
  await db.connect()
  const isNew = await isEmpty(db)
  if (isNew) {
    say(`filling: ${size.jobs} live, ${size.jobs} finished, ${size.dead} dead`)
    // It would analyze the tables within a minute.
    await db.query('alter system set autovacuum = off')
    await db.query('select pg_reload_conf()')
    await fill(db, url, size)
  }
  const conditions: Condition[] = []
  const isBoth = isNew || values.page !== undefined
  if (isBoth || !values.analyze) conditions.push(await look(db, url, { isAnalyzed: false }))
  if (isBoth || values.analyze) conditions.push(await look(db, url, { isAnalyzed: true }))
  await db.end()
  const isWhole = isBoth && values.only === undefined && !values['no-write']
  if (isWhole) {
    const file = resolve(root, values.page ?? 'docs/benchmarks.md')
    const text = sectionOf({ ...surroundings, size: textOf(size), conditions })
    writeSection(file, { name: 'console', title: 'Console', text })
    say(`wrote ${file}`)
  }
  const isFine = conditions.every(({ took, crowd }) => !took.some(isTooSlow) && crowd.connections <= 4)
  return isFine ? 0 : 1
}

async function look(db: pg.Client, url: string, { isAnalyzed }: { isAnalyzed: boolean }): Promise<Condition> {
  const name = isAnalyzed ? 'Vacuumed and analyzed' : 'Never analyzed'
  await fillFigures(db)
  if (isAnalyzed) await db.query('vacuum analyze')
  await setWorkers(db, 'alive')
  await refreshGauges(url)
  await db.query('checkpoint')
  say(`${name}; load ${(loadavg()[0] ?? 0).toFixed(2)}`)
  const open = (): ReturnType<typeof server.createConsole> =>
    server.createConsole({ connection: url, insecure: true })
  const only = values.only?.split(';')
  const wanted = (one: { name: string }): boolean => only?.includes(one.name) ?? true
  const asked = await requests(db)
  const took: Took[] = []
  const tell = (one: Took): void => {
    took.push(one)
    process.stdout.write(
      `${alignedTable(['', 'first', 'again', 'worst'], [cellsOf(one)]).split('\n')[2] ?? ''}\n`,
    )
  }
  for (const one of asked.filter(wanted)) tell(await measure(open, one))
  if (wanted({ name: 'events' })) tell(await measureStream(open))
  const crowd = await measureCrowd(open, db, asked)
  say(`${crowd.connections} connections at most with 50 requests at once and a stream`)
  // Without workers only a request refreshes the gauges.
  await setWorkers(db, 'gone')
  const withoutWorkers = asked.filter(({ name: one }) => one === 'overview' || one === 'queues')
  for (const one of withoutWorkers.filter(wanted))
    tell(await measure(open, { ...one, name: `${one.name}, no worker lives` }))
  await setWorkers(db, 'alive')
  return { name, took, crowd }
}

async function isEmpty(db: pg.Client): Promise<boolean> {
  const { rows } = await db.query<{ is: boolean }>(`select to_regclass('stint.job') is null as is`)
  return rows[0]?.is ?? true
}

function textOf({ jobs, dead }: Size): string {
  const said = (count: number): string => count.toLocaleString('en-US')
  return `${said(jobs)} live jobs, ${said(jobs)} finished ones and ${said(dead)} dead letters`
}

function say(line: string): void {
  process.stderr.write(`bench: ${line}\n`)
}
