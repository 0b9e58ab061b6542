import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Action, Role } from '../api/common.ts'
import { roles } from '../api/common.ts'
import type { Caller, Resource } from './caller.ts'
import type { RedactedJob } from './caller.ts'
import { actionsOf } from './roles.ts'
import { AllOf, saysYesToAll } from './scope.ts'
import { Sessions } from './sessions.ts'
import type { SessionsConfig } from './sessions.ts'
import { findToken, hashOf, isValid } from './tokens.ts'
import type { Token } from './tokens.ts'

/** Who a request is of, as the host's `auth` says. */
export interface Identity {
  /** A name for people and the audit. */
  actor: string
  role: Role
  /** Narrows what the role may do, by queue, kind or key too; asked for each act, it cannot add rights. */
  can?: ((action: Action, resource?: Resource) => boolean) | undefined
  /** Replaces more of a value that a job carries, after `redact` of its contract. */
  redact?: ((value: unknown, job: RedactedJob) => unknown) | undefined
  /** `'api'` for what no browser sends by itself, such as a header of its own: it needs no check of its origin. @default 'api' with Authorization: Bearer, else 'dashboard' */
  origin?: 'dashboard' | 'api' | undefined
}

export type Authenticate = (request: Request) => Identity | null | Promise<Identity | null>

export interface AuthenticatorConfig extends SessionsConfig {
  auth: Authenticate | undefined
  tokens: readonly Token[]
  /** Nobody has to say who they are. */
  isInsecure: boolean
  /** Whether there is a link that lets one browser in, for where nothing is configured. */
  hasLink: boolean
  publicOrigin: string | undefined
}

/** The holder of the one-time link; no token can have this name. */
const linkHolder = ':link'

/** Who comes in: by a token, by a session that was begun with one, or by what the host says. Otherwise nobody. */
export class Authenticator {
  readonly #config: AuthenticatorConfig
  readonly #sessions: Sessions
  readonly #linkBinding = randomBytes(16).toString('hex')
  #link: string | undefined

  constructor(config: AuthenticatorConfig) {
    this.#config = config
    this.#sessions = new Sessions(config)
    this.#link = config.hasLink ? randomBytes(32).toString('base64url') : undefined
  }

  /** The path of the one-time link, until it is used. */
  get link(): string | undefined {
    return this.#link === undefined ? undefined : `${this.#config.basePath}/login?once=${this.#link}`
  }

  /** Whether people can sign in here, and not only by the host's own means. */
  get hasSignIn(): boolean {
    return this.#config.tokens.length > 0 || this.#config.hasLink
  }

  readonly identify = async (request: Request): Promise<Caller | undefined> => {
    const { auth, tokens, isInsecure } = this.#config
    const bearer = bearerOf(request)
    if (bearer !== undefined) {
      const token = findToken(tokens, bearer)
      if (token !== undefined) return callerOf({ actor: token.name, role: token.role, origin: 'api' })
    }
    const holder = await this.#sessions.holderOf(request, (name) => this.#bindingOf(name))
    if (holder === linkHolder) return callerOf({ actor: 'local', role: 'admin', origin: 'dashboard' })
    const session = tokens.find(({ name }) => name === holder)
    if (session !== undefined)
      return callerOf({ actor: session.name, role: session.role, origin: 'dashboard' })
    const identity = (await auth?.(request)) ?? undefined
    if (identity !== undefined)
      return callerOf({ origin: bearer === undefined ? 'dashboard' : 'api', ...checked(identity) })
    return isInsecure ? callerOf({ actor: 'anonymous', role: 'admin', origin: 'dashboard' }) : undefined
  }

  /** Begins a session with a token; undefined where it is none. Gives the cookie. */
  signIn(text: string, isSecure: boolean): string | undefined {
    const token = findToken(this.#config.tokens, text)
    if (token === undefined) return undefined
    return this.#sessions.begin({ name: token.name, binding: token.hash.toString('hex') }, isSecure)
  }

  /** Begins a session with the one-time link, which then is of no use to anybody else. */
  useLink(text: string, isSecure: boolean): string | undefined {
    if (this.#link === undefined || !timingSafeEqual(hashOf(text), hashOf(this.#link))) return undefined
    this.#link = undefined
    return this.#sessions.begin({ name: linkHolder, binding: this.#linkBinding }, isSecure)
  }

  /** Ends the session of a request, for every console; gives the cookie that takes it from the browser. */
  signOut(request: Request, isSecure: boolean): Promise<string> {
    return this.#sessions.end(request, { bindingOf: (name) => this.#bindingOf(name), isSecure })
  }

  #bindingOf(name: string): string | undefined {
    if (name === linkHolder) return this.#linkBinding
    const token = this.#config.tokens.find((one) => one.name === name)
    return token !== undefined && isValid(token) ? token.hash.toString('hex') : undefined
  }
}

function bearerOf(request: Request): string | undefined {
  return /^Bearer +([\w.~+/=-]+)$/i.exec(request.headers.get('Authorization') ?? '')?.[1]
}

function asked(can: NonNullable<Identity['can']>, action: Action, resource?: Resource): boolean {
  return resource instanceof AllOf ? saysYesToAll(can, action, resource) : can(action, resource)
}

function callerOf({ actor, role, can, redact, origin = 'dashboard' }: Identity): Caller {
  const own = actionsOf[role]
  return {
    actor,
    role,
    origin,
    isNarrowed: can !== undefined,
    can: (action, resource) => own.has(action) && (can === undefined || asked(can, action, resource)),
    redact,
  }
}

/** What the host's code gave: a wrong answer is its mistake, and lets nobody in. */
function checked(identity: Identity): Identity {
  const { actor, role } = identity as { actor: unknown; role: unknown }
  const isRole = roles.some((one) => one === role)
  if (typeof actor === 'string' && actor !== '' && actor.length <= 200 && isRole) return clean(identity)
  throw new Error(
    "`auth` of the console answered neither null nor { actor: 'a name', role: 'viewer' | 'operator' | 'admin' }",
  )
}

/** Without what is undefined, so that it does not hide a default. */
function clean({ actor, role, can, redact, origin }: Identity): Identity {
  return { actor, role, can, redact, ...(origin === undefined ? {} : { origin }) }
}
