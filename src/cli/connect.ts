import { Stint } from '../client/stint.ts'

export interface DatabaseValues {
  schema?: string | undefined
  'database-url'?: string | undefined
}

/** Runs `work` with a client of the database that the options name, and closes it. */
export async function withStint<Result>(
  { schema, 'database-url': connection }: DatabaseValues,
  work: (stint: Stint) => Promise<Result>,
): Promise<Result> {
  const stint = new Stint({ connection, schema })
  try {
    return await work(stint)
  } finally {
    await stint.close()
  }
}
