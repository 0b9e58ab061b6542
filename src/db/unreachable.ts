import { peek } from '../core/failures/thrown.ts'

/** Errors of a client that never had a connection, and whose cause is probably a setting. */
const neverReached = new WeakSet<object>()

/** The URL as shown in messages and logs, without its password. */
export function withoutPassword(url: string): string {
  const { user, host, database } = partsOf(url)
  return `${database} at ${host}, as ${user}`
}

/**
 * Explains why no connection was made: where we tried to connect, and what to check. The driver says only
 * ECONNREFUSED, or nothing at all if the host name has several addresses.
 */
export function explainUnreachable<Thrown>(error: Thrown, url: string, hasConnected: boolean): Thrown {
  const explanation = explain(error, url)
  if (explanation === undefined || !(error instanceof Error)) return error
  error.message = explanation
  if (!hasConnected) neverReached.add(error)
  return error
}

/** Whether to give up soon: these settings have never worked, so they are more likely wrong than the server slow. */
export function isNeverReached(error: unknown): boolean {
  return typeof error === 'object' && error !== null && neverReached.has(error)
}

const wayOut = 'correct the connection URL (DATABASE_URL)'

function explain(error: unknown, url: string): string | undefined {
  const { user, host, database } = partsOf(url)
  const code = String(peek(error, 'code'))
  const said = String(peek(error, 'message'))
  switch (code) {
    case '28P01':
      return `${host} refuses the password of '${user}' (${said}); ${wayOut}`
    case '28000':
      return `${host} refuses the login '${user}' (${said}); ${wayOut}, or let it in (pg_hba.conf, create role)`
    case '3D000':
      return `${host} has no database '${database}'; create it, or ${wayOut}`
    case 'ECONNREFUSED':
      return `nothing listens at ${host} (ECONNREFUSED); start PostgreSQL there, or ${wayOut}`
    case 'ENOENT':
      return `there is no socket at ${host} (ENOENT); start PostgreSQL, or ${wayOut}`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the host name of ${host} is not known (${code}); ${wayOut}`
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `no way leads to ${host} (${code}); look at the network, or ${wayOut}`
    case 'CERT_HAS_EXPIRED':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `the certificate of ${host} is not trusted (${said}); see sslmode and sslrootcert of the connection URL`
    default:
      return said.includes('does not support SSL')
        ? `${host} does not speak TLS; see sslmode of the connection URL (DATABASE_URL)`
        : undefined
  }
}

function partsOf(url: string): { user: string; host: string; database: string } {
  try {
    const { username, hostname, port, pathname, searchParams } = new URL(url)
    const [name, own] = [decodeURIComponent(hostname), decodeURIComponent(pathname.slice(1))]
    const user = decodeURIComponent(username) || (process.env['PGUSER'] ?? process.env['USER'] ?? '')
    const hostName = searchParams.get('host') ?? (name === '' ? (process.env['PGHOST'] ?? 'localhost') : name)
    return {
      user,
      host: `${hostName}:${port === '' ? (process.env['PGPORT'] ?? '5432') : port}`,
      database: own === '' ? (process.env['PGDATABASE'] ?? user) : own,
    }
  } catch {
    return { user: '?', host: 'the database', database: '?' }
  }
}
