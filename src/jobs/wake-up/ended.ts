import { peek } from '../../core/failures/thrown.ts'

/*
 * How callers who wait for results and workers who end jobs find each other. While callers wait, their client says so
 * every few seconds on the channel of workers. For a while after that, workers name the jobs that ended on a channel of
 * its own, which only clients with waiting callers listen to. Both are hints: a lost one costs one poll.
 */

/** The channel on which workers name the jobs that ended. */
export function endedChannelOf(schema: string): string {
  return `${schema}_ended`
}

/** How often a client says that its callers wait. */
export const sayWaitingEveryMs = 5_000

/** Says that callers wait for results. */
export const waitingPayload = JSON.stringify({ waiting: true })

/** Whether a payload says that callers wait for results. */
export function saysWaiting(payload: string): boolean {
  return payload === waitingPayload
}

/** Ids of one payload: with quotes and commas it stays below the 8,000 bytes that Postgres takes. */
const idsAPayload = 200

/** Job ids as payloads of NOTIFY. */
export function endedPayloadsOf(ids: readonly string[]): string[] {
  const payloads: string[] = []
  for (let at = 0; at < ids.length; at += idsAPayload)
    payloads.push(JSON.stringify({ ended: ids.slice(at, at + idsAPayload) }))
  return payloads
}

/** The jobs of a payload that a client waits for. Any login of the database may send any text on the channel. */
export function endedIn(payload: string, isAwaited: (id: string) => boolean): string[] {
  try {
    const ids = peek(JSON.parse(payload), 'ended')
    if (!Array.isArray(ids)) return []
    return ids.filter((id: unknown): id is string => typeof id === 'string' && isAwaited(id))
  } catch {
    return []
  }
}
