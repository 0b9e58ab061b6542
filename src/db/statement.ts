/** One parameterised statement, compiled from a .sql file by scripts/build-sql.mjs. */
export interface Statement<Param extends string> extends Script {
  /** In the order of $1, $2 …. */
  readonly params: readonly Param[]
}

/** SQL without parameters that may hold several statements: a migration. */
export interface Script {
  /** Its file below src: `jobs/enqueue.sql`. */
  readonly name: string
  /** Text and names in turn: every odd entry is `stint` or a role named after it, to be rendered. */
  readonly parts: readonly string[]
}

/** Can send one statement: a pool, a client, a caller's open transaction. */
export interface Queryable {
  /** The schema that Stint's tables are in. */
  readonly schema: string
  query(text: string, values: readonly unknown[]): Promise<readonly unknown[]>
}

/** What only our own connections can do: a caller's library may not support COPY. */
export interface Copyable extends Queryable {
  /** Sends rows in COPY's text format. */
  copy(text: string, rows: string): Promise<void>
}

export function isCopyable(db: Queryable): db is Copyable {
  return 'copy' in db
}

/** A statement with its values, as it is sent. */
export interface Bound {
  text: string
  values: readonly unknown[]
}

export function bind<Param extends string>(
  statement: Statement<Param>,
  schema: string,
  params: Readonly<Record<Param, unknown>>,
): Bound {
  return { text: render(statement, schema), values: statement.params.map((param) => params[param]) }
}

/** Sends a statement and reads each row that comes back. */
export async function run<Param extends string, Read extends (row: never) => unknown>(
  db: Queryable,
  statement: Statement<Param>,
  params: Readonly<Record<Param, unknown>>,
  read: Read,
): Promise<ReturnType<Read>[]> {
  const { text, values } = bind(statement, db.schema, params)
  const rows = await db.query(text, values)
  return rows.map((row) => read(row as never) as ReturnType<Read>)
}

const rendered = new Map<string, WeakMap<Script, string>>()

/** The text of a statement for one schema; made once, because the driver compares and hashes it on every call. */
export function render(script: Script, schema: string): string {
  let texts = rendered.get(schema)
  if (texts === undefined) rendered.set(schema, (texts = new WeakMap()))
  let text = texts.get(script)
  if (text === undefined) {
    // The comment in front makes pg_stat_activity name our statements.
    text = `/* ${script.name} */ ${script.parts.map((part, i) => (i % 2 === 1 ? ownName(part, schema) : part)).join('')}`
    texts.set(script, text)
  }
  return text
}

/** `stint_producer` in the schema `work` is the role "work_producer". */
function ownName(name: string, schema: string): string {
  return schema === 'stint' ? name : `"${schema}${name.slice('stint'.length)}"`
}
