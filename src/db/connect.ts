import { StintError } from '../core/errors.ts'

export interface Connected {
  url: string
  /** The folder of the embedded server, if it is used. */
  embeddedDir?: string
  /** Releases the embedded server, if it is used. */
  release(): Promise<void>
}

/**
 * The URL of the database: the option, else DATABASE_URL, else the embedded server outside production, else an error.
 */
export async function connect(
  connection: string | undefined,
  environment: NodeJS.ProcessEnv,
): Promise<Connected> {
  const url = [connection, environment['DATABASE_URL']].find(
    (candidate) => candidate !== undefined && candidate !== '',
  )
  if (url !== undefined) return { url: checked(url), release: () => Promise.resolve() }
  if (environment['NODE_ENV'] === 'production') {
    throw new StintError(
      'no-database',
      'No database: set DATABASE_URL or pass `connection`. The embedded server is for development and does not start in production.',
    )
  }
  // Loaded only here: a producer with a DATABASE_URL never touches it.
  const { startEmbedded } = await import('../embedded/start.ts')
  const server = await startEmbedded()
  return { url: server.url, embeddedDir: server.dir, release: () => server.release() }
}

function checked(url: string): string {
  if (/^postgres(ql)?:\/\//.test(url)) return url
  throw new StintError(
    'invalid-option',
    "Expected `connection` to be a URL that starts with 'postgres://' or 'postgresql://'.",
    {
      issues: [{ path: 'connection', message: 'is not a postgres:// URL' }],
    },
  )
}
