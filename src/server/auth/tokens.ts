import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { StintError } from '../../core/errors.ts'
import { roles } from '../api/common.ts'
import type { Role } from '../api/common.ts'

/** A configured token. Only its hash is kept. */
export interface Token {
  /** The name of its holder, shown to people and stored in the audit log. */
  name: string
  role: Role
  /** Null if it never expires. */
  expiresAt: Date | null
  /** SHA-256 of the token. */
  hash: Buffer
}

const namePattern = /^[A-Za-z0-9_][\w.@-]{0,63}$/

/** Makes a token of 256 random bits. It is shown once: only its hash is kept. */
export function makeToken({ name, role, expiresAt }: { name: string; role: Role; expiresAt: Date | null }): {
  token: string
  line: string
} {
  const token = `stint_${randomBytes(32).toString('base64url')}`
  const expiry = expiresAt === null ? 'never' : expiresAt.toISOString()
  const line = `${name}:${role}:${expiry}:${hashOf(token).toString('hex')}`
  // Parse the line, so that an invalid one is never printed.
  parseToken(line)
  return { token, line }
}

export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** Tokens as `name:role:expiry|never:sha256hex`, separated by line breaks or commas. */
export function parseTokens(text: string): Token[] {
  const lines = text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  return uniquelyNamed(lines.map(parseToken))
}

export function parseToken(line: string): Token {
  // The expiry contains colons.
  const [, name, role, expiry, hash] = /^([^:]*):([^:]*):(.*):([^:]*)$/.exec(line) ?? []
  const known = roles.find((one) => one === role)
  const expiresAt = expiry === 'never' ? null : new Date(expiry ?? '')
  // The messages do not quote the line: a person may have put the token itself there, and it must not get into a log.
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
    if (names.has(name)) throw invalidToken(`two tokens have the name '${name}'`)
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

/** Finds the unexpired token with this text. It compares all tokens, each in constant time. */
export function findToken(tokens: readonly Token[], text: string, now = new Date()): Token | undefined {
  const hash = hashOf(text)
  let found: Token | undefined
  for (const token of tokens) if (timingSafeEqual(token.hash, hash)) found = token
  return found !== undefined && isValid(found, now) ? found : undefined
}

export function isValid({ expiresAt }: Token, now = new Date()): boolean {
  return expiresAt === null || expiresAt > now
}
