import { lookup as lookUp } from 'node:dns/promises'
import { isIP } from 'node:net'
import { StintError } from '../../core/errors.ts'
import { isPublicAddress } from './address.ts'

export interface Address {
  address: string
  family: number
}

/** Finds the addresses of a host name. */
export type Lookup = (hostname: string) => Promise<readonly Address[]>

export interface TargetRules {
  /** Origins, such as `http://10.0.0.7:8080`, that may be inside, and without TLS. */
  allow: readonly string[]
  /** @default the resolver of the system */
  lookup?: Lookup | undefined
}

/** A target that may be connected to, at these addresses and no others. */
export interface Target {
  url: URL
  addresses: readonly Address[]
}

/**
 * Checks a target and resolves its name, once. The caller connects to the addresses that were checked: a name that is
 * resolved again may lead elsewhere. Throws `webhook-refused`.
 *
 * `new URL()` turns every spelling of an IPv4 address (decimal, hexadecimal, octal, with fewer parts) into the usual one.
 */
export async function findTarget(
  address: string,
  { allow, lookup = systemLookup }: TargetRules,
): Promise<Target> {
  if (!URL.canParse(address)) throw refused('is not a URL')
  const url = new URL(address)
  const { origin, protocol, hostname } = url
  const isAllowed = allow.includes(origin)
  if (protocol !== 'https:' && !isAllowed) throw refused('does not use https', origin)
  if (url.username !== '' || url.password !== '') throw refused('has a user name or password in it', origin)
  const literal = hostname.replace(/^\[(.*)\]$/, '$1')
  const family = isIP(literal)
  const addresses = family > 0 ? [{ address: literal, family }] : await lookup(hostname)
  if (addresses.length === 0)
    throw Object.assign(new Error(`${origin} has no address`), { code: 'ENOTFOUND' })
  if (!isAllowed && !addresses.every((one) => isPublicAddress(one.address)))
    throw refused('leads to an address that is not public', origin)
  return { url, addresses }
}

/** Whether a text is an origin as `new URL()` writes it. */
export function isOrigin(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    URL.canParse(value) &&
    /^https?:/.test(value) &&
    new URL(value).origin === value
  )
}

function systemLookup(hostname: string): Promise<readonly Address[]> {
  return lookUp(hostname, { all: true })
}

/** Only the origin is named: path and query may contain a secret. */
function refused(why: string, origin?: string): StintError {
  const target = origin === undefined ? 'The target' : `The target ${origin}`
  return new StintError(
    'webhook-refused',
    `${target} ${why}. Webhooks go to public https addresses; add the origin to \`webhooks.allow\` of the worker if it is one of yours.`,
  )
}
