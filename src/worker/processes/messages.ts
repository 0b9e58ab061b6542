import { peek } from '../../core/failures/thrown.ts'
import { isUuid } from '../../core/uuid.ts'

/** A worker of a process, and where its lease is kept. */
export interface LeaseNote {
  workerId: string
  url: string
  schema: string
  drainMs: number
}

/** What a worker process tells its supervisor. */
export type Message =
  /** One of its workers has this lease from now on. */
  | ({ type: 'lease' } & LeaseNote)
  /** All of its workers claim. */
  | { type: 'ready' }
  /** It claims no more jobs, and ends when the running ones have ended. */
  | { type: 'stopping' }

/** Sent with each message, so that no other message on the channel is taken for one of ours. */
export const protocol = { stint: 1 } as const

/**
 * A message, or undefined for any other value. After a deployment the processes are newer than their supervisor: their
 * messages have at least these fields, perhaps more.
 */
export function readMessage(said: unknown): Message | undefined {
  const version = peek(said, 'stint')
  if (typeof version !== 'number' || version < protocol.stint) return undefined
  switch (peek(said, 'type')) {
    case 'lease':
      return readLease(said)
    case 'ready':
      return { type: 'ready' }
    case 'stopping':
      return { type: 'stopping' }
    default:
      return undefined
  }
}

function readLease(said: unknown): Message | undefined {
  const workerId = peek(said, 'workerId')
  const url = peek(said, 'url')
  const schema = peek(said, 'schema')
  const drainMs = peek(said, 'drainMs')
  if (!isUuid(workerId) || typeof url !== 'string' || typeof schema !== 'string') return undefined
  return { type: 'lease', workerId, url, schema, drainMs: typeof drainMs === 'number' ? drainMs : 0 }
}
