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

/** The caller of a request, as returned by the host's `auth`. */
export interface Identity {
  /** The caller's name, shown to people and stored in the audit log. */
  actor: string
  role: Role
  /** Narrows the role, optionally by queue, kind or key. The console calls it for every action; it cannot add rights. */
  can?: ((action: Action, resource?: Resource) => boolean) | undefined
  /** Hides more of an input, result or log value of a job, after `redact` of its contract. */
  redact?: ((value: unknown, job: RedactedJob) => unknown) | undefined
  /** `'api'` for credentials that a browser does not send by itself, such as a custom header: no same-origin check is needed. @default 'api' with Authorization: Bearer, else 'dashboard' */
  origin?: 'dashboard' | 'api' | undefined
}

export type Authenticate = (request: Request) => Identity | null | Promise<Identity | null>

export interface AuthenticatorConfig extends SessionsConfig {
  auth: Authenticate | undefined
  tokens: readonly Token[]
  /** Requests without credentials are admitted, as an admin. */
  isInsecure: boolean
  /** Whether one browser can sign in with a one-time link: for a console without `auth` and tokens. */
  hasLink: boolean
  publicOrigin: string | undefined
}

/** The holder of the one-time link; no token can have this name. */
const linkHolder = ':link'

/** Finds the caller of a request: by its token, by a session that began with a token, or by the host's `auth`. */
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

  /** The path of the one-time link; undefined once it is used. */
  get link(): string | undefined {
    return this.#link === undefined ? undefined : `${this.#config.basePath}/login?once=${this.#link}`
  }

  /** Whether the sign-in page works here; otherwise people sign in only through the host. */
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

  /** Begins a session with a token and returns its cookie; undefined if the token is not valid. */
  signIn(text: string, isSecure: boolean): string | undefined {
    const token = findToken(this.#config.tokens, text)
    if (token === undefined) return undefined
    return this.#sessions.begin({ name: token.name, binding: token.hash.toString('hex') }, isSecure)
  }

  /** Begins a session with the one-time link, which stops working, and returns the cookie; undefined for a wrong link. */
  useLink(text: string, isSecure: boolean): string | undefined {
    if (this.#link === undefined || !timingSafeEqual(hashOf(text), hashOf(this.#link))) return undefined
    this.#link = undefined
    return this.#sessions.begin({ name: linkHolder, binding: this.#linkBinding }, isSecure)
  }

  /** Ends the session of a request, for every console, and returns the cookie that deletes it from the browser. */
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

function hostAllows(can: NonNullable<Identity['can']>, action: Action, resource?: Resource): boolean {
  return resource instanceof AllOf ? saysYesToAll(can, action, resource) : can(action, resource)
}

function callerOf({ actor, role, can, redact, origin = 'dashboard' }: Identity): Caller {
  const own = actionsOf[role]
  return {
    actor,
    role,
    origin,
    isNarrowed: can !== undefined,
    can: (action, resource) => own.has(action) && (can === undefined || hostAllows(can, action, resource)),
    redact,
  }
}

/** Checks what the host's `auth` returned. An invalid identity is a bug of the host: it throws, so the caller is not admitted. */
function checked(identity: Identity): Identity {
  const { actor, role } = identity as { actor: unknown; role: unknown }
  const isRole = roles.some((one) => one === role)
  if (typeof actor === 'string' && actor !== '' && actor.length <= 200 && isRole) return clean(identity)
  throw new Error(
    "`auth` of the console returned neither null nor { actor: 'a name', role: 'viewer' | 'operator' | 'admin' }",
  )
}

/** Removes an undefined `origin`, so that it does not override the default. */
function clean({ actor, role, can, redact, origin }: Identity): Identity {
  return { actor, role, can, redact, ...(origin === undefined ? {} : { origin }) }
}
