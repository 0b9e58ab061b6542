import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { ConsoleStore } from '../../client/console/console-store.ts'
import { isStintError } from '../../core/errors.ts'

const lastsMs = 12 * 3_600_000
const cookieName = 'stint_session'

/** Who holds a session: a token, by its name, or the browser that used the one-time link. */
export interface SessionHolder {
  name: string
  /** Changes with the token: old sessions end when a new token replaces it under the same name. */
  binding: string
}

/** The content of a cookie with a valid signature. */
interface SignedSession {
  name: string
  until: number
  /** SHA-256 of the signature. */
  digest: Buffer
}

export interface SessionsConfig {
  secret: string | undefined
  basePath: string
  store: Pick<ConsoleStore, 'endSession' | 'isSessionEnded'>
}

/**
 * Sessions of browsers that signed in with a token. A session is a signed cookie, so nothing is stored while it lasts, and
 * it ends when its token does. A session that is signed out is recorded in the database until it would expire, and every
 * console checks there. Without `secret` each process signs with a random key of its own; several consoles behind one
 * address need the same `secret` to accept each other's sessions.
 */
export class Sessions {
  readonly #secret: Buffer | string
  readonly #path: string
  readonly #store: SessionsConfig['store']
  /** Sessions that ended in this process: a console with a read-only database login cannot record them there. */
  readonly #ended = new Map<string, number>()

  constructor({ secret, basePath, store }: SessionsConfig) {
    this.#secret = secret ?? randomBytes(32)
    this.#path = basePath === '' ? '/' : basePath
    this.#store = store
  }

  begin(holder: SessionHolder, isSecure: boolean, now = Date.now()): string {
    const until = now + lastsMs
    const nonce = randomBytes(12).toString('base64url')
    const signature = this.#sign(holder, until, nonce)
    const value = `${Buffer.from(holder.name).toString('base64url')}.${until}.${nonce}.${signature}`
    return this.#cookie(value, lastsMs / 1_000, isSecure)
  }

  /** Ends the session of a request, if it has one, and returns the cookie that deletes it from the browser. */
  async end(
    request: Request,
    { bindingOf, isSecure }: { bindingOf: (name: string) => string | undefined; isSecure: boolean },
  ): Promise<string> {
    const session = this.#signedIn(request, bindingOf)
    if (session !== undefined) await this.#note(session)
    return this.#cookie('', 0, isSecure)
  }

  /** The name of the session's holder; undefined if `bindingOf` no longer knows the holder or the session has ended. */
  async holderOf(
    request: Request,
    bindingOf: (name: string) => string | undefined,
  ): Promise<string | undefined> {
    const session = this.#signedIn(request, bindingOf)
    if (session === undefined || this.#ended.has(session.digest.toString('hex'))) return undefined
    return (await this.#store.isSessionEnded(session.digest)) ? undefined : session.name
  }

  async #note({ digest, until }: SignedSession, now = Date.now()): Promise<void> {
    for (const [old, end] of this.#ended) if (end <= now) this.#ended.delete(old)
    this.#ended.set(digest.toString('hex'), until)
    try {
      await this.#store.endSession({ digest, expiresAt: new Date(until) })
    } catch (error) {
      if (!isStintError(error, 'database-rejected')) throw error
    }
  }

  #signedIn(
    request: Request,
    bindingOf: (name: string) => string | undefined,
    now = Date.now(),
  ): SignedSession | undefined {
    const cookie = cookieOf(request) ?? ''
    const [encoded, until, nonce, signature, ...rest] = cookie.split('.')
    if (encoded === undefined || until === undefined || nonce === undefined || signature === undefined)
      return undefined
    if (rest.length > 0 || !/^\d{1,15}$/.test(until) || Number(until) <= now) return undefined
    const name = Buffer.from(encoded, 'base64url').toString()
    const binding = bindingOf(name)
    if (binding === undefined) return undefined
    if (!isEqual(signature, this.#sign({ name, binding }, Number(until), nonce))) return undefined
    // Digest the signature, not the cookie: base64url can write a name in several ways, and each would be another session.
    const digest = createHash('sha256').update(signature).digest()
    return { name, until: Number(until), digest }
  }

  #sign({ name, binding }: SessionHolder, until: number, nonce: string): string {
    return createHmac('sha256', this.#secret)
      .update(JSON.stringify([name, until, nonce, binding]))
      .digest('base64url')
  }

  #cookie(value: string, maxAge: number, isSecure: boolean): string {
    const secure = isSecure ? '; Secure' : ''
    return `${cookieName}=${value}; Path=${this.#path}; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure}`
  }
}

function cookieOf(request: Request): string | undefined {
  const cookies = (request.headers.get('Cookie') ?? '').split(';')
  const found = cookies.find((cookie) => cookie.trim().startsWith(`${cookieName}=`))
  return found?.trim().slice(cookieName.length + 1)
}

function isEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
