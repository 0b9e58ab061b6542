import type pg from 'pg'

/** What each role may write, read from the catalogue of the database, so that no list here can be out of date. */
export interface WritableColumn {
  table: string
  column: string
  /** For a domain, the type below it. */
  type: string
  isRequired: boolean
  insertBy: string[]
  updateBy: string[]
}

export interface CallableFunction {
  name: string
  args: { name: string; type: string }[]
  callableBy: string[]
}

/** Sends a statement and returns its rows. */
export type Query = <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>

/** All columns of tables that one of the roles may insert into or update. */
export async function writableColumns(query: Query, roles: readonly string[]): Promise<WritableColumn[]> {
  const columns = await query<WritableColumn>(
    `select c.relname as "table", a.attname as "column",
            format_type(case when t.typtype = 'd' then t.typbasetype else t.oid end, null) as type,
            a.attnotnull and not a.atthasdef as "isRequired",
            array(select r from unnest($1::text[]) as r where has_column_privilege(r, c.oid, a.attnum, 'insert')) as "insertBy",
            array(select r from unnest($1::text[]) as r where has_column_privilege(r, c.oid, a.attnum, 'update')) as "updateBy"
       from pg_class as c
       join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       join pg_type as t on t.oid = a.atttypid
      where c.relnamespace = 'stint'::regnamespace
        and c.relkind in ('r', 'p')
        and not c.relispartition
      order by c.relname, a.attnum`,
    [roles],
  )
  const writable = new Set(
    columns
      .filter(({ insertBy, updateBy }) => insertBy.length + updateBy.length > 0)
      .map(({ table }) => table),
  )
  // Includes the columns that the roles cannot write, because a row needs them.
  return columns.filter(({ table }) => writable.has(table))
}

export function isWritable({ insertBy, updateBy }: WritableColumn): boolean {
  return insertBy.length + updateBy.length > 0
}

/** All functions that one of the roles may call, with their input arguments. */
export function callableFunctions(query: Query, roles: readonly string[]): Promise<CallableFunction[]> {
  return query<CallableFunction & pg.QueryResultRow>(
    `select p.proname as name,
            array(select r from unnest($1::text[]) as r where has_function_privilege(r, p.oid, 'execute')) as "callableBy",
            coalesce((select jsonb_agg(jsonb_build_object('name', coalesce(p.proargnames[a.place], ''),
                                                          'type', format_type(a.type, null)) order by a.place)
                        from unnest(p.proargtypes) with ordinality as a (type, place)), '[]') as args
       from pg_proc as p
      where p.pronamespace = 'stint'::regnamespace
        and exists (select from unnest($1::text[]) as r where has_function_privilege(r, p.oid, 'execute'))
      order by p.proname`,
    [roles],
  )
}

/** The members of a job that enqueue_jobs() reads, from the text of the function. */
export async function membersRead(query: Query): Promise<Set<string>> {
  const [one] = await query<{ text: string }>(
    `select string_agg(pg_get_functiondef(oid), '') as text from pg_proc
      where pronamespace = 'stint'::regnamespace and proname in ('enqueue_one', 'enqueue_jobs')`,
  )
  const read = (one?.text ?? '').matchAll(/wanted (?:->>?|\?) '(\w+)'/g)
  return new Set([...read].map(([, name = '']) => name))
}

export interface Write {
  statement: string
  /** Used as ($1)[1], ($1)[2], … */
  values: (string | null)[]
  /** A second statement with the same values: both succeed or neither. */
  after?: string | undefined
}

/** 'stored', or the SQLSTATE and message of the refusal. */
export type Written = string

/** Creates a function that tries one statement and returns the outcome: hundreds of tries in one round trip. */
export async function createTry(query: Query): Promise<void> {
  await query(`create function public.try_write(statement text, after text, given jsonb) returns text language plpgsql as $$
    declare
      given_values text[] := array(select jsonb_array_elements_text(given));
    begin
      execute statement using given_values;
      if after is not null then execute after using given_values; end if;
      return 'stored';
    exception
      when query_canceled then return '57014 it went on for longer than the statement timeout';
      when others then return sqlstate || ' ' || sqlerrm;
    end $$`)
}

/** Tries each write on its own; a refused write changes nothing. */
export async function tryWrites(query: Query, writes: readonly Write[]): Promise<Written[]> {
  const written: Written[] = []
  for (const batch of batches(writes)) {
    const rows = await query<{ result: string }>(
      `select public.try_write(w ->> 'statement', w ->> 'after', w -> 'values') as result
         from jsonb_array_elements($1::text::jsonb) with ordinality as e (w, place)
        order by place`,
      [JSON.stringify(batch)],
    )
    written.push(...rows.map(({ result }) => result))
  }
  return written
}

/** A statement holds at most tens of megabytes. */
function batches(writes: readonly Write[]): Write[][] {
  const all: Write[][] = []
  let size = Infinity
  for (const write of writes) {
    const bytes = write.values.reduce((sum, value) => sum + (value?.length ?? 0), 0)
    if (size + bytes > 8_000_000) {
      all.push([])
      size = 0
    }
    size += bytes
    all.at(-1)?.push(write)
  }
  return all
}

/** An insert of these columns, each cast to its type. */
export function insertOf(
  table: string,
  row: Readonly<Record<string, string | null>>,
  types: ReadonlyMap<string, string>,
): Write {
  const names = Object.keys(row)
  const casts = names.map((name, at) => `($1)[${at + 1}]::${types.get(`${table}.${name}`) ?? 'text'}`)
  const quoted = names.map((name) => `"${name}"`)
  return {
    statement: `insert into stint.${table} (${quoted.join(', ')}) values (${casts.join(', ')})`,
    values: Object.values(row),
  }
}

/**
 * The CHECK constraints of the first release: no stored row breaks one of these. Rows that are older than a later
 * constraint may break it.
 */
const ever: ReadonlySet<string> = new Set([
  ...[
    'audit_origin',
    'audit_outcome',
    'dead_reason',
    'error_group_status',
    'finished_has_ended',
    'fire_has_job',
  ],
  ...['fire_outcome', 'gauge_refresh_one', 'job_is_live', 'job_lease_while_running', 'operation_state'],
  ...['operation_job_outcome', 'queue_keeps', 'schedule_missed', 'schedule_overlap', 'schedule_source'],
])

export interface LaterConstraint extends Record<string, unknown> {
  /** `table stint.job`, or a domain. */
  owner: string
  name: string
  definition: string
  /** Whether even old rows cannot break it. */
  isValid: boolean
  isPartition: boolean
}

/** Constraints that came after the first release. */
export async function laterConstraints(query: Query): Promise<LaterConstraint[]> {
  const found = await query<LaterConstraint>(
    `select coalesce('table ' || nullif(k.conrelid, 0)::regclass::text, 'domain ' || format_type(k.contypid, null)) as owner,
            k.conname as name, pg_get_constraintdef(k.oid) as definition, k.convalidated as "isValid",
            coalesce(c.relispartition, false) as "isPartition"
       from pg_constraint as k
       left join pg_class as c on c.oid = k.conrelid
      where k.connamespace = 'stint'::regnamespace
        and k.contype = 'c'
      order by "isPartition"`,
  )
  return found.filter(({ name }) => !ever.has(name))
}

export async function dropConstraints(query: Query, constraints: readonly LaterConstraint[]): Promise<void> {
  for (const { owner, name } of constraints) await query(`alter ${owner} drop constraint if exists "${name}"`)
}

/** Restores constraints as they are in a database with older rows: only new rows and updates have to satisfy them. */
export async function addConstraints(query: Query, constraints: readonly LaterConstraint[]): Promise<void> {
  for (const { owner, name, definition, isPartition } of constraints) {
    const notValid = definition.endsWith('NOT VALID') ? '' : ' not valid'
    if (!isPartition) await query(`alter ${owner} add constraint "${name}" ${definition}${notValid}`)
  }
}
