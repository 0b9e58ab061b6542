import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { StintError } from '../../core/errors.ts'
import { roles } from '../api/common.ts'
import type { Role } from '../api/common.ts'

/** A token that may be used: its hash, never itself. */
export interface Token {
  /** Who it is, for people and the audit. */
  name: string
  role: Role
  /** Null: never. */
  expiresAt: Date | null
  /** SHA-256 of the token. */
  hash: Buffer
}

const namePattern = /^[A-Za-z0-9_][\w.@-]{0,63}$/

/** A new one, 256 bits; shown once, for only its hash is kept. */
export function makeToken({ name, role, expiresAt }: { name: string; role: Role; expiresAt: Date | null }): {
  token: string
  line: string
} {
  const token = `stint_${randomBytes(32).toString('base64url')}`
  const expiry = expiresAt === null ? 'never' : expiresAt.toISOString()
  const line = `${name}:${role}:${expiry}:${hashOf(token).toString('hex')}`
  // Read back, so that what is printed is what is understood.
  parseToken(line)
  return { token, line }
}

export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** `name:role:expiry|never:sha256hex`, one a line or with commas between them. */
export function parseTokens(text: string): Token[] {
  const lines = text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  return uniquelyNamed(lines.map(parseToken))
}

export function parseToken(line: string): Token {
  // An expiry has colons of its own.
  const [, name, role, expiry, hash] = /^([^:]*):([^:]*):(.*):([^:]*)$/.exec(line) ?? []
  const known = roles.find((one) => one === role)
  const expiresAt = expiry === 'never' ? null : new Date(expiry ?? '')
  // The line itself is not shown: whoever puts a token there by mistake must not find it in a log.
  if (name === undefined || !namePattern.test(name))
    throw invalidToken('its name is not 1 to 64 letters, digits and _ . @ -')
  if (known === undefined) throw invalidToken(`the role of '${name}' is none of ${roles.join(', ')}`)
  if (expiry === undefined || (expiresAt !== null && Number.isNaN(expiresAt.getTime())))
    throw invalidToken(`the expiry of '${name}' is neither a time (ISO 8601) nor 'never'`)
  if (hash === undefined || !/^[\da-f]{64}$/i.test(hash))
    throw invalidToken(`the hash of '${name}' is not 64 hexadecimal digits: SHA-256 of the token`)
  return { name, role: known, expiresAt, hash: Buffer.from(hash, 'hex') }
}

export function uniquelyNamed(tokens: readonly Token[]): Token[] {
  const names = new Set<string>()
  for (const { name } of tokens) {
    if (names.has(name)) throw invalidToken(`two have the name '${name}'`)
    names.add(name)
  }
  return [...tokens]
}

function invalidToken(why: string): StintError {
  return new StintError(
    'invalid-option',
    `A token cannot be read: ${why}. Expected lines \`name:role:expiry|never:sha256\`, as \`stint token new\` prints them.`,
    { issues: [{ path: 'tokens', message: why }] },
  )
}

/** The token that this text is, where it is one that has not expired. All are compared, each in the same time. */
export function findToken(tokens: readonly Token[], text: string, now = new Date()): Token | undefined {
  const hash = hashOf(text)
  let found: Token | undefined
  for (const token of tokens) if (timingSafeEqual(token.hash, hash)) found = token
  return found !== undefined && isValid(found, now) ? found : undefined
}

export function isValid({ expiresAt }: Token, now = new Date()): boolean {
  return expiresAt === null || expiresAt > now
}
