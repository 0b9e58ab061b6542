import type { StintOptions } from '../client/options.ts'
import { Stint } from '../client/stint.ts'
import { isStintError } from '../core/errors.ts'
import { keepOperationsWorker } from '../worker/operations-worker.ts'
import { createApp } from './http/app.ts'
import { Assets } from './assets.ts'
import type { App, ConsoleParts } from './context.ts'
import { Cursors } from './http/cursors.ts'
import { Authenticator } from './auth/authenticator.ts'
import { Live } from './live/live.ts'
import { liveSource } from './live/source.ts'
import { SharedReads } from './answers/shared-reads.ts'
import { frameWith, refusal } from './http/headers.ts'
import type { Frame } from './http/headers.ts'
import { openApiDocument } from './http/openapi.ts'
import { resolveConsoleOptions } from './options.ts'
import type { ConsoleConfig, ConsoleOptions } from './options.ts'
import { pathBelow } from './http/path.ts'
import { busy, HttpProblem } from './http/problem.ts'
import { isSafe } from './http/same-origin.ts'

/** The console: the HTTP API and the dashboard, behind one `fetch` function. */
export interface Console {
  /** Answers every request, failures too; it does not throw. */
  readonly fetch: (request: Request, from?: RequestOrigin) => Promise<Response>
  /** The path of the one-time link, which signs in one browser; only without `auth` and tokens. Print it for the user. */
  readonly link: string | undefined
  readonly basePath: string
  /**
   * Executes operations in this process from now on. Without this call it begins with the first operation that is started
   * or viewed through this console. A read-only console never executes operations.
   */
  readonly executeOperations: () => void
  /** Stops operations, ends streams, waits for running statements, then closes the connections. */
  readonly close: () => Promise<void>
}

export interface RequestOrigin {
  /** The address of the client, for counting failed sign-ins. */
  address?: string | undefined
}

/** How long the console waits for its database. */
export type ConsoleLimits = Required<
  Pick<StintOptions, 'timeout' | 'poolWait' | 'statementTimeout' | 'lockTimeout'>
>

/** Few connections and short timeouts, so that the console never slows the queue; beyond them it answers 503. */
const usualLimits: ConsoleLimits = {
  timeout: '1s',
  poolWait: '1s',
  statementTimeout: '3s',
  lockTimeout: '250ms',
}

/** Longer than the longest `Prefer: wait` with its statements, so a request that takes longer hangs. */
const answerWithinMs = 60_000
/** Requests at once: each may hold a body of megabytes. At most half of them may wait for a job (http/prefer-wait.ts). */
const mostAtOnce = 256

export function createConsole(options: ConsoleOptions = {}): Console {
  return createConsoleWithin(usualLimits, options)
}

/** With other timeouts, for tests of everything else on machines that may stand still for a while. */
export function createConsoleWithin(limits: ConsoleLimits, options: ConsoleOptions = {}): Console {
  const config = resolveConsoleOptions(options, process.env)
  const { basePath, environment = null, readOnly, insecure, onError } = config
  const { connection, schema, blobs } = config
  // One of the connections is for the LISTEN, which is open while there are viewers or requests that wait.
  const canListen = config.poolSize > 1
  const poolSize = canListen ? config.poolSize - 1 : config.poolSize
  const listening = canListen ? {} : { listenConnection: false as const }
  const stint =
    config.stint === undefined
      ? new Stint({ connection, schema, blobs, poolSize, ...listening, ...limits })
      : config.stint.clone({ poolSize, ...listening, ...limits })
  const authenticator = new Authenticator({ ...config, isInsecure: insecure, store: stint.consoleStore })
  const executor = readOnly
    ? undefined
    : keepOperationsWorker(stint.place, (error) => {
        onError(error, { requestId: 'operations' })
      })
  const parts: ConsoleParts = {
    stint,
    basePath,
    contracts: config.contracts,
    about: { environment, readOnly, insecure },
    acceptUnknownKinds: config.acceptUnknownKinds,
    approvals: config.approvals,
    limits: { refused: 0 },
    waiting: { requests: 0 },
    connections: config.poolSize,
    identify: authenticator.identify,
    ...liveReads(stint, onError),
    cursors: cursorsOf(stint),
    executor,
  }
  const frame = frameWith(config)
  const app = createApp(parts, {
    authenticator,
    frame,
    publicOrigin: config.publicOrigin,
    hosts: config.hosts,
    assets: new Assets({ basePath }),
    onError: (error, requestId) => {
      onError(error, { requestId })
    },
  })
  return {
    fetch: answering(app, parts, frame),
    get link() {
      return authenticator.link
    },
    basePath,
    executeOperations: () => {
      executor?.wake()
    },
    close: async () => {
      await executor?.stop()
      await parts.live.close()
      await stint.close()
    },
  }
}

function cursorsOf(stint: Stint): Cursors {
  return new Cursors(() => stint.consoleStore.cursorKey())
}

/** The shared reads and live updates of the screens. Nothing is read before the first request. */
function liveReads(stint: Stint, onError: ConsoleConfig['onError']): Pick<ConsoleParts, 'reads' | 'live'> {
  const reads = new SharedReads(stint)
  const onTrouble = (error: unknown): void => {
    // Viewers are told when the database is unavailable; any other error is a bug of the console.
    if (!isStintError(error)) onError(error, { requestId: 'events' })
  }
  return { reads, live: new Live({ source: liveSource(stint, reads), onTrouble }) }
}

/** The API as OpenAPI 3.1, without a database. */
export function consoleOpenApi({ basePath = '' }: { basePath?: string } = {}): object {
  // A client connects with its first statement, and here it never sends one.
  const stint = new Stint()
  const authenticator = new Authenticator({
    auth: () => null,
    tokens: [],
    isInsecure: false,
    hasLink: false,
    secret: undefined,
    basePath,
    publicOrigin: undefined,
    store: stint.consoleStore,
  })
  const parts: ConsoleParts = {
    stint,
    contracts: new Map(),
    basePath,
    limits: { refused: 0 },
    waiting: { requests: 0 },
    connections: 1,
    identify: authenticator.identify,
    ...liveReads(stint, () => undefined),
    cursors: cursorsOf(stint),
    about: { environment: null, readOnly: false, insecure: false },
    acceptUnknownKinds: false,
    approvals: { secrets: [] },
  }
  const app = createApp(parts, {
    authenticator,
    frame: frameWith({ frameAncestors: "'none'" }),
    publicOrigin: undefined,
    hosts: undefined,
    assets: new Assets({ basePath, folder: undefined }),
    onError: () => undefined,
  })
  return openApiDocument(app, basePath)
}

function answering(app: App, parts: ConsoleParts, frame: Frame): Console['fetch'] {
  let requestsInProgress = 0
  return async (request, { address } = {}) => {
    const path = pathBelow(request.url, parts.basePath) ?? '/'
    // Probes need no resources, and an orchestrator must not kill a busy console because its probe is refused.
    if (isSafe(request.method) && probes.has(path)) return app.fetch(request, { address })
    if (requestsInProgress >= mostAtOnce) {
      parts.limits.refused++
      return refusal(busy(), { request, instance: path, frame })
    }
    requestsInProgress++
    let timer: NodeJS.Timeout | undefined
    const answer = Promise.resolve(app.fetch(request, { address }))
    const tooLate = new Promise<Response>((resolve) => {
      timer = setTimeout(() => {
        resolve(refusal(timedOut(), { request, instance: path, frame }))
        // The late answer may be a stream, which stays open until it is cancelled.
        void answer.then((late) => late.body?.cancel()).catch(() => undefined)
      }, answerWithinMs)
    })
    try {
      return await Promise.race([answer, tooLate])
    } finally {
      clearTimeout(timer)
      requestsInProgress--
    }
  }
}

const probes: ReadonlySet<string> = new Set(['/v1/health/live', '/v1/health/ready'])

function timedOut(): HttpProblem {
  return new HttpProblem({
    status: 503,
    code: 'timeout',
    title: 'The request took too long',
    detail: `The console could not answer within ${answerWithinMs / 1_000} seconds.`,
    headers: { 'Retry-After': '5' },
  })
}
