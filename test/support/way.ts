import { inject } from 'vitest'
import { lane } from './lane.ts'

/** The URL that clients and workers under test use for a database of the server. */
export function usualWay(directUrl: string): string {
  const port = inject('poolerPort')
  if (port === 0) return directUrl
  const url = new URL(directUrl)
  url.port = String(port)
  return url.href
}

/** The direct URL of the same database, for any URL of it. */
export function straightWay(url: string): string {
  const { pathname } = new URL(url)
  // There is no pooler in front of another server.
  const isOurs = pathname.startsWith(`/${inject('template').replace('_template', '')}`)
  if (inject('poolerPort') === 0 || !isOurs) return url
  const direct = new URL(inject('serverUrl'))
  direct.pathname = pathname
  return direct.href
}

/** Options for workers under test beside their own: LISTEN cannot go through a pooler. */
export function optionsOfLane(options: { connection?: string | undefined }): { listenConnection?: string } {
  if (lane !== 'pgbouncer' || options.connection === undefined) return {}
  return { listenConnection: straightWay(options.connection) }
}
