import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Stint } from '../client/stint.ts'
import type { JobContract } from '../contracts/contract.ts'
import type { Cursors } from './http/cursors.ts'
import type { Live } from './live/live.ts'
import type { SharedReads } from './answers/shared-reads.ts'
import type { Caller } from './auth/caller.ts'

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
  reads: SharedReads
  /** Streams of what changes, and requests that wait for the end of a job. */
  live: Live
}

/** A resource's routes: `app.ts` lists them all. */
export type Routes = (app: App, parts: ConsoleParts) => void
