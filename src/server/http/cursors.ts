import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { invalidOption } from '../../core/options.ts'
import { isUuid } from '../../core/uuid.ts'

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const idBytes = 16
const tagBytes = 16

/**
 * Cursors that reveal no hidden job. If a page ends at a row that the caller may see, the cursor is the id of that row. If
 * the search stopped among rows that the caller may not see, the id is encrypted: the caller sends the cursor back and
 * learns neither that id nor when the job was created.
 */
export class Cursors {
  readonly #readKey: () => Promise<Buffer>
  #key: Promise<Buffer> | undefined

  constructor(readKey: () => Promise<Buffer>) {
    this.#readKey = readKey
  }

  async seal(id: string): Promise<string> {
    const nonce = randomBytes(nonceBytes)
    const encrypting = createCipheriv(cipher, await this.#keyOnce(), nonce)
    const hidden = encrypting.update(Buffer.from(id.replaceAll('-', ''), 'hex'))
    return Buffer.concat([nonce, hidden, encrypting.final(), encrypting.getAuthTag()]).toString('base64url')
  }

  /** The id after which the next page begins. */
  async open(cursor: string): Promise<string> {
    if (isUuid(cursor)) return cursor
    const bytes = Buffer.from(cursor, 'base64url')
    if (bytes.length !== nonceBytes + idBytes + tagBytes) throw unknown(cursor)
    const decrypting = createDecipheriv(cipher, await this.#keyOnce(), bytes.subarray(0, nonceBytes))
    decrypting.setAuthTag(bytes.subarray(nonceBytes + idBytes))
    try {
      const hex = decrypting.update(bytes.subarray(nonceBytes, nonceBytes + idBytes), undefined, 'hex')
      decrypting.final()
      return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    } catch {
      throw unknown(cursor)
    }
  }

  #keyOnce(): Promise<Buffer> {
    this.#key ??= this.#readKey().catch((error: unknown) => {
      this.#key = undefined
      throw error
    })
    return this.#key
  }
}

function unknown(cursor: string): Error {
  return invalidOption('cursor', 'the `next` of an earlier page', cursor)
}
