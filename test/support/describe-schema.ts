import pg from 'pg'
import { Database } from '../../src/db/database.ts'
import { schemaObjects } from '../../src/schema/drift.ts'

const sections: [title: string, query: string][] = [
  [
    'types',
    `select format('create type %s as enum (%s);', t.oid::regtype, string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder))
       from pg_type t join pg_enum e on e.enumtypid = t.oid
      where t.typnamespace = $1::regnamespace group by t.oid
     union all
     select format('create domain %s as %s %s;', t.oid::regtype, format_type(t.typbasetype, t.typtypmod), pg_get_constraintdef(c.oid))
       from pg_type t join pg_constraint c on c.contypid = t.oid
      where t.typnamespace = $1::regnamespace`,
  ],
  [
    'tables',
    `select format(E'create table %s (\\n%s\\n)%s;', c.oid::regclass,
              string_agg(format('  %s %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
                case when a.attnotnull then ' not null' else '' end,
                coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')), E',\\n' order by a.attnum),
              case when c.relkind = 'p' then ' partition by ' || pg_get_partkeydef(c.oid) else '' end)
       from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
      where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      group by c.oid, c.relkind`,
  ],
  [
    'constraints',
    `select format('alter table %s add constraint %s %s;', conrelid::regclass, conname, pg_get_constraintdef(k.oid))
       from pg_constraint k join pg_class c on c.oid = k.conrelid
      where k.connamespace = $1::regnamespace and not c.relispartition and k.contype <> 'n'`,
  ],
  [
    'storage',
    `select format('alter table %s set (%s);', oid::regclass, array_to_string(reloptions, ', '))
       from pg_class
      where relnamespace = $1::regnamespace and relkind = 'r' and not relispartition and reloptions is not null
     union all
     select format('alter table %s alter column %I set statistics %s;', attrelid::regclass, attname, attstattarget)
       from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = $1::regnamespace and c.relkind = 'r' and not c.relispartition
        and a.attnum > 0 and a.attstattarget >= 0`,
  ],
  [
    'indexes',
    `select pg_get_indexdef(i.indexrelid) || ';'
       from pg_index i join pg_class c on c.oid = i.indrelid
      where c.relnamespace = $1::regnamespace and not c.relispartition and not i.indisprimary`,
  ],
  [
    'views',
    `select format(E'create view %s as\\n%s', c.oid::regclass, pg_get_viewdef(c.oid, true))
       from pg_class c where c.relnamespace = $1::regnamespace and c.relkind = 'v'`,
  ],
  [
    'functions',
    `select regexp_replace(pg_get_functiondef(p.oid), '\\s+$', '') || ';'
       from pg_proc p where p.pronamespace = $1::regnamespace`,
  ],
]

/** A schema as text, which does not depend on the order in which the schema was created. */
export async function describeSchema(url: string, schema: string): Promise<string> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    // So that every name is printed in full.
    await client.query(`set search_path = ''`)
    const texts = [`-- The schema after all migrations. Made by \`npm run schema:dump\`; do not edit.\n`]
    for (const [title, query] of sections) {
      const { rows } = await client.query<[string]>({ text: query, values: [schema], rowMode: 'array' })
      texts.push(
        `-- ${title}\n`,
        `${rows
          .map(([text]) => text)
          .sort()
          .join('\n\n')}\n`,
      )
    }
    return texts.join('\n')
  } finally {
    await client.end()
  }
}

/** The objects of a schema as in schema/objects.sql, by name. */
export async function describeObjects(url: string, schema: string): Promise<Record<string, string>> {
  const db = new Database({ url, schema, poolSize: 1, deadlineMs: 30_000, applicationName: 'describe' })
  try {
    const objects = await db.transaction(async (tx) => {
      await tx.query(`set local search_path = ''`, [])
      return schemaObjects(tx)
    })
    return Object.fromEntries([...objects].sort(([a], [b]) => (a < b ? -1 : 1)))
  } finally {
    await db.close()
  }
}
