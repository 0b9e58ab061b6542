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

/** The same database without anything in between, whatever way the URL takes. */
export function straightWay(url: string): string {
  const { pathname } = new URL(url)
  // Of another server nobody stands in between.
  const isOurs = pathname.startsWith(`/${inject('template').replace('_template', '')}`)
  if (inject('poolerPort') === 0 || !isOurs) return url
  const direct = new URL(inject('serverUrl'))
  direct.pathname = pathname
  return direct.href
}

/** What workers under test are given beside their own options: LISTEN cannot go through a pooler. */
export function optionsOfLane(options: { connection?: string | undefined }): { listenConnection?: string } {
  if (lane !== 'pgbouncer' || options.connection === undefined) return {}
  return { listenConnection: straightWay(options.connection) }
}
