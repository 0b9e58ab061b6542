import { Stint } from '../client/stint.ts'
import { StintError } from '../core/errors.ts'
import { embeddedDir, hasEmbedded } from '../embedded/start.ts'
import { note } from './output/output.ts'

export interface DatabaseValues {
  schema?: string | undefined
  'database-url'?: string | undefined
}

/** Runs `work` with a client of the database that the options name, then closes the client. */
export async function withStint<Result>(
  values: DatabaseValues,
  work: (stint: Stint) => Promise<Result>,
  options?: { mayCreate: boolean },
): Promise<Result> {
  const stint = new Stint({ connection: databaseUrl(values, options), schema: values.schema })
  try {
    return await work(stint)
  } finally {
    await stint.close()
  }
}

/**
 * The database that the options or DATABASE_URL name. Undefined means the embedded server; a note on standard error says
 * so, because the user may expect another database. Only `mayCreate` allows to create a new embedded database.
 */
export function databaseUrl(
  { 'database-url': option }: DatabaseValues,
  { mayCreate }: { mayCreate: boolean } = { mayCreate: false },
): string | undefined {
  const url = [option, process.env['DATABASE_URL']].find((given) => given !== undefined && given !== '')
  // In production the client itself refuses to run without a database URL.
  if (url !== undefined || process.env['NODE_ENV'] === 'production') return url
  const dir = embeddedDir()
  if (!mayCreate && !hasEmbedded(dir))
    throw new StintError(
      'no-database',
      `No database: DATABASE_URL is not set, and there is no embedded PostgreSQL in ${dir}. ` +
        'Set DATABASE_URL, or create an embedded database with `stint dev` or `stint migrate`.',
    )
  note(`DATABASE_URL is not set: using the embedded PostgreSQL in ${dir}`)
  return undefined
}
