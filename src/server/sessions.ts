import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const lastsMs = 12 * 3_600_000
const cookieName = 'stint_session'

/** Whom a session is of: a token by its name, or the holder of the one-time link. */
export interface SessionHolder {
  name: string
  /** Changes with the token: a new one under the same name does not keep old sessions alive. */
  binding: string
}

/**
 * Sessions of browsers that signed in with a token. A session is a signed cookie, so nothing is stored, and one ends
 * with its token. It is signed with the process's own secret unless one is given: then several consoles behind one
 * address know each other's.
 */
export class Sessions {
  readonly #secret: Buffer | string
  readonly #path: string

  constructor({ secret, basePath }: { secret: string | undefined; basePath: string }) {
    this.#secret = secret ?? randomBytes(32)
    this.#path = basePath === '' ? '/' : basePath
  }

  begin(holder: SessionHolder, isSecure: boolean, now = Date.now()): string {
    const until = now + lastsMs
    const value = `${Buffer.from(holder.name).toString('base64url')}.${until}.${this.#sign(holder, until)}`
    return this.#cookie(value, lastsMs / 1_000, isSecure)
  }

  end(isSecure: boolean): string {
    return this.#cookie('', 0, isSecure)
  }

  /** The holder that the cookie is of, where `bindingOf` still knows it. */
  holderOf(
    request: Request,
    bindingOf: (name: string) => string | undefined,
    now = Date.now(),
  ): string | undefined {
    const [encoded, until, signature] = cookieOf(request)?.split('.') ?? []
    if (encoded === undefined || until === undefined || signature === undefined) return undefined
    if (!/^\d{1,15}$/.test(until) || Number(until) <= now) return undefined
    const name = Buffer.from(encoded, 'base64url').toString()
    const binding = bindingOf(name)
    if (binding === undefined) return undefined
    return isEqual(signature, this.#sign({ name, binding }, Number(until))) ? name : undefined
  }

  #sign({ name, binding }: SessionHolder, until: number): string {
    return createHmac('sha256', this.#secret)
      .update(JSON.stringify([name, until, binding]))
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
