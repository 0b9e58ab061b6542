import { randomUUID } from 'node:crypto'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { cancelMarkedSql } from './cancel-marked.sql.ts'

export interface Cancelling {
  /** How long the statement may take. */
  afterMs: number
  /** Ends the statement earlier. */
  signal?: AbortSignal | undefined
  /** Where the statement is sent. @default the database that it is cancelled through */
  on?: Queryable | undefined
}

/** How often to repeat the cancel: it may come before its statement has begun. */
const againMs = 250

/**
 * Sends a statement that waits for other transactions, and cancels it on the server when it has waited long enough. The
 * statement is found by a mark in its text: that works behind a pooler too, where settings of a session do not hold.
 */
export async function cancellable(
  db: Queryable,
  statement: string,
  { afterMs, signal, on = db }: Cancelling,
): Promise<void> {
  const mark = randomUUID()
  let timer: NodeJS.Timeout | undefined
  const cancel = (): void => {
    clearTimeout(timer)
    timer = setTimeout(cancel, againMs)
    run(db, cancelMarkedSql, { mark }, () => undefined).catch(() => undefined)
  }
  timer = setTimeout(cancel, afterMs)
  signal?.addEventListener('abort', cancel)
  try {
    signal?.throwIfAborted()
    await on.query(`/* ${mark} */ ${statement}`, [])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', cancel)
  }
}
