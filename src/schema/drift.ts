import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { expectedObjects } from './expected-objects.ts'
import { objectsSql } from './objects.sql.ts'

export interface SchemaDrift {
  /** Objects that the migrations make and that the schema does not have: `index job_ready`, `column job.id`. */
  missing: string[]
  /** Objects that differ from those that the migrations make. */
  different: { object: string; expected: string; found: string }[]
}

const usual = 'stint.'

/**
 * Compares the schema with the objects that all migrations of this version make. Other objects in the schema are
 * ignored.
 */
export async function schemaDrift(db: Queryable): Promise<SchemaDrift> {
  const found = await schemaObjects(db)
  const drift: SchemaDrift = { missing: [], different: [] }
  for (const [object, expected] of Object.entries(expectedObjects)) {
    const definition = found.get(object)
    if (definition === undefined) drift.missing.push(object)
    else if (definition !== expected) drift.different.push({ object, expected, found: definition })
  }
  return drift
}

/**
 * Every object of the schema with a text that is the same for the same object, independent of the schema's name. Sent
 * with an empty search_path, because Postgres prints the names of objects on the path without their schema.
 */
export async function schemaObjects(db: Queryable): Promise<Map<string, string>> {
  const { schema } = db
  const named = new RegExp(`(?<![\\w."])(?:"${schema}"|${schema})\\.`, 'g')
  const params = { schema, usual, quoted: `"${schema}".` }
  return new Map(
    await run(db, objectsSql, params, ({ object, definition }: { object: string; definition: string }) => {
      return [object, definition.replace(named, usual)] as const
    }),
  )
}

/** The indexes that the migrations make, by name. */
export function ownIndexes(): string[] {
  return Object.keys(expectedObjects).flatMap((object) =>
    object.startsWith('index ') ? [object.slice('index '.length)] : [],
  )
}

/** The statement that makes an index of ours in this schema; if Postgres can do that, without blocking writers. */
export function indexDefinition(name: string, schema: string): string | undefined {
  const definition = expectedObjects[`index ${name}`]?.replace(/(?<![\w."])stint\./g, `"${schema}".`)
  // An index of a partitioned table: all its days get one, and it cannot be built concurrently.
  return definition?.includes(' ON ONLY ') === true
    ? definition.replace(' ON ONLY ', ' ON ')
    : definition?.replace(' INDEX ', ' INDEX CONCURRENTLY ')
}
