/*
 * The cost of a refresh of the gauges with 5 million ready jobs: right after loading, when the planner has no statistics,
 * and vacuumed and analyzed.
 *
 *   npm run bench -- gauges [--millions 5] [--quick] [--json] [--no-write] [--page file]
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
import { fill } from './fill.ts'
import { measure } from './measure.ts'
import type { Condition } from './measure.ts'
import { cellsOf, columns, isTooSlow, sectionOf, wrongIn } from './section.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const { values } = parseArgs({
  allowPositionals: true,
  options: {
    millions: { type: 'string', default: '5' },
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    'no-write': { type: 'boolean', default: false },
    page: { type: 'string' },
  },
})
const ready = values.quick ? 100_000 : Math.round(Number(values.millions) * 1_000_000)
const machine = describeMachine()
const postgres = await startPostgres()
// The channel to run.mjs closes with this process; the guard ends the server with it.
process.once('disconnect', () => process.exit(130))
try {
  await postgres.recreate('gauges')
  process.exitCode = await main(postgres.url('gauges'))
} finally {
  await postgres.stop()
}
process.exit()

async function main(url: string): Promise<number> {
  const db = new pg.Client({ connectionString: url, statement_timeout: 600_000 })
  await db.connect()
  // Autovacuum would analyze the table within a minute.
  await db.query('alter system set autovacuum = off')
  await db.query('select pg_reload_conf()')
  say(`filling: ${ready} ready jobs`)
  const truth = await fill(db, url, ready)
  const conditions: Condition[] = []
  for (const name of ['never analyzed', 'vacuumed and analyzed']) {
    if (name !== 'never analyzed') await db.query('vacuum analyze')
    await db.query('checkpoint')
    say(`${name}; load ${(loadavg()[0] ?? 0).toFixed(2)}`)
    conditions.push(await measure(db, url, { name, truth }))
  }
  await db.end()
  if (values.json)
    for (const one of conditions) process.stdout.write(`${JSON.stringify({ ready, ...one })}\n`)
  else process.stdout.write(`${alignedTable(columns, conditions.map(cellsOf))}\n`)
  const wrong = conditions.flatMap(wrongIn)
  for (const one of wrong)
    say(`'${one.queue}' has ${one.jobs} ${one.state} jobs, and the gauges say ${one.told}`)
  if (wrong.length > 0) return 1
  const isWhole = !values.quick && values.millions === '5'
  const page = values.page ?? (isWhole ? 'docs/benchmarks.md' : undefined)
  if (page !== undefined && !values['no-write']) {
    const file = resolve(root, page)
    const text = sectionOf({ ...machine, postgres: postgres.version, ready, conditions })
    writeSection(file, { name: 'gauges', title: 'Gauges', text })
    say(`wrote ${file}`)
  }
  return conditions.some(isTooSlow) ? 1 : 0
}

function say(line: string): void {
  process.stderr.write(`bench: ${line}\n`)
}
