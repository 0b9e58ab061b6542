import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { cursorKeySql } from './cursor-key.sql.ts'
import { endSessionSql } from './end-session.sql.ts'
import { sessionEndedSql } from './session-ended.sql.ts'

/** A browser session, identified by the SHA-256 of its cookie's signature. */
export interface EndedSession {
  digest: Buffer
  /** When it would have expired. */
  expiresAt: Date
}

export async function endSession(db: Queryable, { digest, expiresAt }: EndedSession): Promise<void> {
  await run(db, endSessionSql, { digest, expiresAt }, () => undefined)
}

export async function isSessionEnded(db: Queryable, digest: Buffer): Promise<boolean> {
  return (await run(db, sessionEndedSql, { digest }, () => true)).length > 0
}

/** 32 bytes, the same for all consoles of an installation. */
export async function cursorKey(db: Queryable): Promise<Buffer> {
  const [key] = await run(db, cursorKeySql, {}, (row: { key: Buffer }) => row.key)
  if (key === undefined) throw new Error('stint.cursor_key has no row')
  return key
}
