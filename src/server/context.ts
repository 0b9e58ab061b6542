import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Stint } from '../client/stint.ts'
import type { JobContract } from '../contracts/contract.ts'
import type { Action, Role } from './api/common.ts'
import type { Cursors } from './cursors.ts'
import type { Live } from './live.ts'
import type { Looks } from './looks.ts'
import type { RedactedJob } from './redact.ts'

/** Who asks, as `auth` or a token says. */
export interface Caller {
  /** A name for people and the audit. */
  actor: string
  role: Role
  /** Whether this caller may do it; a role's actions, narrowed by `can` of the host's `auth`. */
  can: (action: Action, resource?: Resource) => boolean
  /** False where no host narrows it: then no job has to be asked about. */
  isNarrowed?: boolean | undefined
  /** A browser with a cookie, or a program with a token. */
  origin: 'dashboard' | 'api'
  /** The host's own redaction of a value that a job carries, after ours; see `redactFor`. */
  redact?: ((value: unknown, job: RedactedJob) => unknown) | undefined
}

/** What an action is about, for a host that scopes its people. What is left out is meant with all there is of it. */
export interface Resource {
  queue?: string | undefined
  kind?: string | undefined
  key?: string | null | undefined
}

/** What every request carries through the routes. */
export interface Env {
  Bindings: {
    /** Where the request came from, where the host's server says so. */
    address?: string | undefined
  }
  Variables: {
    caller: Caller
    requestId: string
    /** The body of a request that changes something, as it came. */
    body?: Uint8Array<ArrayBuffer> | undefined
    /**
     * With an Idempotency-Key: an id that is the same for every repeat of this request. What is stored under it is
     * stored once, also where a crash came between the act and its kept answer.
     */
    intentId?: string | undefined
  }
}

export type App = OpenAPIHono<Env>

/** What the routes work with. They hold no SQL: what they need of the database is a method of the client. */
export interface ConsoleParts {
  /** The console's own client: few connections, short timeouts; never the host's pool. */
  stint: Stint
  contracts: ReadonlyMap<string, JobContract>
  /** Where it is mounted: '' or '/admin/jobs'. */
  basePath: string
  /** What `/v1/me` says of this console. */
  about: { environment: string | null; readOnly: boolean; insecure: boolean }
  /** Kinds without a contract here may be enqueued, unchecked, into a queue that the request names. */
  acceptUnknownKinds: boolean
  /** Requests answered with 503 because a limit of the console was met, since it started. */
  limits: { refused: number }
  /** Executes operations in this process, from when it is first woken on; undefined where the console only looks. */
  executor?: { wake(): void } | undefined
  /** Connections it may have open, that of its LISTEN among them. */
  connections: number
  /** Who a request is of, asked again while its stream lasts. */
  identify: (request: Request) => Promise<Caller | undefined>
  /** Of pages that are cut to what a caller may see. */
  cursors: Cursors
  /** What all screens share. */
  looks: Looks
  /** Streams of what changes, and requests that wait for the end of a job. */
  live: Live
}

/** A resource's routes: `app.ts` lists them all. */
export type Routes = (app: App, parts: ConsoleParts) => void
