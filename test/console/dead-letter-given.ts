import { defineJob } from '../../src/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { bury } from '../support/dead-letters.ts'
import { openStint } from './scene.ts'

export const mail = defineJob({ kind: 'mail.send', queue: 'mail' })

/** A mail that died of a declined card, and whose input has a part to redact. Returns its id. */
export async function deadLetter(db: TestDatabase): Promise<string> {
  const { id } = await openStint(db.url).enqueue(mail, { to: 'ana@example.com', apiKey: 'k-1' })
  const error = {
    name: 'CardDeclined',
    message: 'do not honor',
    class: 'error',
    stack: 'CardDeclined\n    at x',
    causes: [],
    fingerprint: 'b02c9e51b02c9e51',
  }
  await bury(db, id, { fingerprint: 'b02c9e51b02c9e51', error })
  return id
}
