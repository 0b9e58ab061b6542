import { afterAll, beforeAll, expect, test } from 'vitest'
import { Findings } from './support/findings.ts'
import { form } from './support/form.ts'
import { insertOf, isWritable, tryWrites } from './support/hostile-catalog.ts'
import type { WritableColumn, Write } from './support/hostile-catalog.ts'
import { createHostileDatabase, isRefusal, roles } from './support/hostile-database.ts'
import type { HostileDatabase } from './support/hostile-database.ts'
import { usualRow } from './support/hostile-planted.ts'
import { hostileValues } from './support/hostile-values.ts'
import type { Hostile } from './support/hostile-values.ts'

/*
 * Every column that a producer or an operator can write, with values that no honest program writes, written by the role
 * itself. hostile-rows.test.ts tests the readers of such values.
 *
 * The writable columns are read from the database, so a new column is tested without a new line here.
 */

let db: HostileDatabase
beforeAll(async () => {
  db = await createHostileDatabase()
})
afterAll(() => db.drop())

test('every column and argument that a producer or an operator can write has hostile values', () => {
  const { columns, functions } = db
  const findings = new Findings()
  for (const column of columns.filter(isWritable))
    if (hostileValues(column.type) === undefined)
      findings.add('no hostile values', `column ${column.column} of table ${column.table}`, column.type)
  for (const { name, args } of functions)
    for (const { name: argument, type } of args)
      if (hostileValues(type) === undefined)
        findings.add('no hostile values', `argument ${argument} of ${name}()`, type)
  findings.expectNone()
  expect(columns.filter(isWritable).length).toBeGreaterThan(100)
  expect(functions.map(({ name }) => name)).toContain('enqueue_jobs')
})

/** In the short form, large values only for the least trusted role, because they take long to send. */
function valuesAtDoor(role: string, { type }: WritableColumn): Hostile[] {
  const isAll = form !== 'short' || role === 'stint_producer'
  return (hostileValues(type) ?? []).filter(({ isLarge }) => isAll || !isLarge)
}

test('a hostile value that a role writes is refused with a data error, or stored', async () => {
  const { query, columns, types } = db
  const findings = new Findings()
  for (const role of roles) {
    const inserts = columns
      .filter(({ insertBy }) => insertBy.includes(role))
      .flatMap((column) => {
        const own = new Set(
          columns
            .filter((one) => one.table === column.table && one.insertBy.includes(role))
            .map((one) => one.column),
        )
        return valuesAtDoor(role, column).map((value) => {
          const usual = Object.entries(usualRow(column.table, columns)).filter(([name]) => own.has(name))
          const row = { ...Object.fromEntries(usual), [column.column]: value.text }
          return {
            about: `insert ${column.table}.${column.column} = ${value.label}`,
            ...insertOf(column.table, row, types),
          }
        })
      })
    const updates = columns
      .filter(({ updateBy }) => updateBy.includes(role))
      .flatMap((column) => {
        const row = usualRow(column.table, columns)
        const [key = ''] = Object.keys(row)
        const insert = insertOf(column.table, row, types)
        const given = { ...insert, statement: `${insert.statement} on conflict do nothing` }
        return valuesAtDoor(role, column).map((value) => ({
          about: `update ${column.table}.${column.column} = ${value.label}`,
          given,
          statement: `update stint.${column.table} set "${column.column}" = ($1)[1]::${column.type} where "${key}"::text = ($1)[2]`,
          values: [value.text, row[key] ?? null],
        }))
      })
    await query('begin')
    try {
      const given = new Set(updates.map((one) => one.given))
      for (const said of await tryWrites(query, [...given]))
        if (said !== 'stored') findings.add(role, 'usual row', said)
      await query(`set local role ${role}`)
      const all: (Write & { about: string })[] = [...inserts, ...updates]
      const said = await tryWrites(query, all)
      for (const [at, { about }] of all.entries()) {
        const answer = said[at] ?? ''
        if (answer !== 'stored' && !isRefusal(answer)) findings.add(role, about, answer)
      }
    } finally {
      await query('rollback')
    }
  }
  findings.expectNone()
})
