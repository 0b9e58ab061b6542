import type { Stint } from '../client/stint.ts'
import type { JobContract } from '../contracts/contract.ts'
import type { BlobOptions } from '../jobs/new/blob-options.ts'
import { StintError } from '../core/errors.ts'
import {
  booleanOption,
  functionOption,
  integerOption,
  invalidOption,
  rejectUnknown,
} from '../core/options.ts'
import { resolveApprovals } from '../node/approval/options.ts'
import type { ApprovalsConfig, ApprovalsOptions } from '../node/approval/options.ts'
import type { Authenticate } from './auth/authenticator.ts'
import { nameOf } from './http/known-host.ts'
import { basePathOption } from './http/path.ts'
import { parseTokens } from './auth/tokens.ts'
import type { Token } from './auth/tokens.ts'

export interface ConsoleOptions {
  /** Your client. The console makes its own client for the same database, with few connections and short timeouts. */
  stint?: Pick<Stint, 'clone'> | undefined
  /** Instead of `stint`: postgres:// URL. @default DATABASE_URL, else the embedded server when NODE_ENV is not production */
  connection?: string | undefined
  /** With `connection`: the Postgres schema of Stint. @default 'stint' */
  schema?: string | undefined
  /** With `connection`: the store of large inputs. */
  blobs?: BlobOptions | undefined
  /** Connections at most; 1 to 4. @default 4 */
  poolSize?: number | undefined
  /** The contracts of your jobs, as a list or a module. The console checks new inputs with them. @default none */
  contracts?: Iterable<JobContract> | Readonly<Record<string, unknown>> | undefined
  /** The path where the console is mounted, such as '/admin/jobs'. @default '' */
  basePath?: string | undefined
  /** Returns the caller of a request; null if the request has no valid credentials. */
  auth?: Authenticate | undefined
  /** Lines `name:role:expiry|never:sha256`, as `stint token new` prints them. @default STINT_TOKENS */
  tokens?: string | readonly string[] | undefined
  /** Refuses every request that would change data. @default false */
  readOnly?: boolean | undefined
  /** Shown on every screen: 'production'. @default none */
  environment?: string | undefined
  /** The origin that people open, such as 'https://ops.example.com', if a proxy hides it. @default the URL of the request */
  publicOrigin?: string | undefined
  /** The sites that may show the console in a frame, as in CSP's frame-ancestors. @default "'none'" */
  frameAncestors?: string | undefined
  /** The key that signs sessions, at least 32 characters; the same for all consoles behind one address. @default STINT_CONSOLE_SECRET, else a new one at each start */
  secret?: string | undefined
  /** The keys of approval links, as the workers have them. */
  approvals?: ApprovalsOptions | undefined
  /** Requests may store kinds without a contract, unchecked, if they name the queue. @default false */
  acceptUnknownKinds?: boolean | undefined
  /** No sign-in: every caller is an admin. @default false */
  insecure?: boolean | undefined
  /**
   * For a console with `insecure` or the one-time link: host names that it answers to, besides those of this machine and
   * of `publicOrigin`. 'any' accepts every host name. @default none
   */
  hosts?: readonly string[] | 'any' | undefined
  /** Without `auth` and tokens: one browser can sign in with a link that works once (`link` of the console). @default true unless NODE_ENV is production */
  oneTimeLink?: boolean | undefined
  /** Called with errors of the console itself. @default emits a process warning */
  onError?: ((error: unknown, request: { requestId: string }) => void) | undefined
}

export interface ConsoleConfig {
  readonly stint: Pick<Stint, 'clone'> | undefined
  readonly connection: string | undefined
  readonly schema: string | undefined
  readonly blobs: BlobOptions | undefined
  readonly poolSize: number
  readonly contracts: ReadonlyMap<string, JobContract>
  readonly basePath: string
  readonly auth: Authenticate | undefined
  readonly tokens: readonly Token[]
  readonly readOnly: boolean
  readonly environment: string | undefined
  readonly publicOrigin: string | undefined
  readonly frameAncestors: string
  readonly secret: string | undefined
  readonly acceptUnknownKinds: boolean
  readonly approvals: ApprovalsConfig
  readonly insecure: boolean
  readonly hasLink: boolean
  /** The host names that the console answers to, besides those of this machine; undefined: any name. */
  readonly hosts: ReadonlySet<string> | undefined
  readonly onError: (error: unknown, request: { requestId: string }) => void
}

const known = [
  ...['stint', 'connection', 'schema', 'blobs', 'poolSize', 'contracts', 'basePath', 'auth', 'tokens'],
  ...[
    'readOnly',
    'environment',
    'publicOrigin',
    'frameAncestors',
    'secret',
    'acceptUnknownKinds',
    'approvals',
  ],
  ...['insecure', 'hosts', 'oneTimeLink', 'onError'],
]

export function resolveConsoleOptions(
  {
    stint,
    connection,
    schema,
    blobs,
    poolSize = 4,
    contracts = [],
    basePath = '',
    auth,
    tokens,
    readOnly = false,
    environment,
    publicOrigin,
    frameAncestors = "'none'",
    secret,
    acceptUnknownKinds = false,
    approvals,
    insecure = false,
    hosts = [],
    oneTimeLink,
    onError = warn,
    ...rest
  }: ConsoleOptions,
  env: NodeJS.ProcessEnv,
): ConsoleConfig {
  rejectUnknown('createConsole()', rest, known)
  if (stint !== undefined && [connection, schema, blobs].some((own) => own !== undefined))
    throw invalidOption(
      'stint',
      'given without `connection`, `schema` and `blobs`: the client has its own',
      stint,
    )
  const isProduction = env['NODE_ENV'] === 'production'
  const config = {
    stint,
    connection,
    schema,
    blobs,
    poolSize: integerOption('poolSize', poolSize, { min: 1, max: 4 }),
    contracts: contractsOption(contracts),
    basePath: basePathOption(basePath),
    auth: auth === undefined ? undefined : functionOption('auth', auth),
    tokens: tokensOption(tokens ?? env['STINT_TOKENS'] ?? ''),
    readOnly: booleanOption('readOnly', readOnly),
    environment: environment === undefined ? undefined : textOption('environment', environment, 100),
    publicOrigin: publicOrigin === undefined ? undefined : originOption(publicOrigin),
    frameAncestors: frameAncestorsOption(frameAncestors),
    secret: secretOption(secret ?? env['STINT_CONSOLE_SECRET']),
    acceptUnknownKinds: booleanOption('acceptUnknownKinds', acceptUnknownKinds),
    approvals: resolveApprovals(approvals, env),
    insecure: booleanOption('insecure', insecure),
    onError: functionOption('onError', onError),
  }
  const hasNoSignIn = config.auth === undefined && config.tokens.length === 0 && !config.insecure
  const mayLink = booleanOption('oneTimeLink', oneTimeLink ?? !isProduction)
  if (hasNoSignIn && !mayLink) throw closed()
  const names = hostsOption(hosts, config.publicOrigin)
  const isGuarded = hasNoSignIn || config.insecure
  return Object.freeze({ ...config, hasLink: hasNoSignIn, hosts: isGuarded ? names : undefined })
}

function closed(): StintError {
  return new StintError(
    'invalid-option',
    'The console has no sign-in: pass `auth` or `tokens` to createConsole(), or set STINT_TOKENS (`stint token new` creates a token). ' +
      'In production the console does not start without one.',
    { issues: [{ path: 'auth', message: 'is missing, and there are no tokens' }] },
  )
}

/** Reads the contracts from a list or a module; other exports of a module are ignored. */
function contractsOption(
  given: Iterable<JobContract> | Readonly<Record<string, unknown>>,
): ReadonlyMap<string, JobContract> {
  if (typeof (given as unknown) !== 'object' || (given as unknown) === null)
    throw invalidOption('contracts', 'a list or a module of contracts', given)
  const isList = Symbol.iterator in given
  const values = isList ? [...(given as Iterable<unknown>)] : Object.values(given)
  const contracts = new Map<string, JobContract>()
  for (const value of values) {
    if (isContract(value)) {
      if (contracts.has(value.kind) && contracts.get(value.kind) !== value)
        throw invalidOption('contracts', 'of different kinds', `two of '${value.kind}'`)
      contracts.set(value.kind, value)
    } else if (isList) throw invalidOption('contracts', 'a list of contracts made by defineJob()', value)
  }
  return contracts
}

function isContract(value: unknown): value is JobContract {
  if (typeof value !== 'object' || value === null) return false
  const { kind, queue, version, retry } = value as Partial<JobContract>
  return (
    typeof kind === 'string' &&
    typeof queue === 'string' &&
    typeof version === 'number' &&
    typeof retry === 'object'
  )
}

function tokensOption(given: unknown): Token[] {
  if (typeof given === 'string') return parseTokens(given)
  if (Array.isArray(given) && given.every((line) => typeof line === 'string'))
    return parseTokens(given.join('\n'))
  // The value may be a token, so the message shows only its type.
  throw invalidOption('tokens', 'text, or a list of lines', typeof given)
}

function textOption(name: string, value: unknown, most: number): string {
  if (typeof value === 'string' && value.length <= most) return value
  throw invalidOption(name, `text of at most ${most} characters`, value)
}

function originOption(value: unknown): string {
  const isOrigin =
    typeof value === 'string' &&
    /^https?:\/\//.test(value) &&
    URL.canParse(value) &&
    new URL(value).origin === value
  if (isOrigin) return value
  throw invalidOption('publicOrigin', "an origin such as 'https://ops.example.com', without a path", value)
}

function hostsOption(given: unknown, publicOrigin: string | undefined): ReadonlySet<string> | undefined {
  if (given === 'any') return undefined
  const wrong = (): StintError =>
    invalidOption('hosts', "names such as 'build.example.com', without a port, or 'any'", given)
  if (!Array.isArray(given)) throw wrong()
  const names = given.map((host: unknown) => {
    if (typeof host !== 'string' || nameOf(host) !== host.toLowerCase()) throw wrong()
    return host.toLowerCase()
  })
  return new Set([...names, ...(publicOrigin === undefined ? [] : [new URL(publicOrigin).hostname])])
}

/** The value becomes part of a header. */
function frameAncestorsOption(value: unknown): string {
  if (typeof value === 'string' && /^[\w'"*:/. -]{1,500}$/.test(value)) return value
  throw invalidOption('frameAncestors', "sources such as 'none', 'self' or https://admin.example.com", value)
}

function secretOption(value: string | undefined): string | undefined {
  if (value === undefined || value === '') return undefined
  if (value.length >= 32) return value
  throw invalidOption('secret', 'text of at least 32 characters', `${value.length} characters`)
}

function warn(error: unknown, { requestId }: { requestId: string }): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  process.emitWarning(`The console failed to answer request ${requestId}: ${text}`, 'StintConsole')
}
