import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Stint } from '../client/stint.ts'
import type { JobContract } from '../contracts/contract.ts'
import type { ApprovalsConfig } from '../node/approval/options.ts'
import type { Cursors } from './http/cursors.ts'
import type { Live } from './live/live.ts'
import type { SharedReads } from './answers/shared-reads.ts'
import type { Caller } from './auth/caller.ts'

/** The variables of a request that middleware and routes share. */
export interface Env {
  Bindings: {
    /** The address of the client, if the host's server passes it. */
    address?: string | undefined
  }
  Variables: {
    caller: Caller
    requestId: string
    /** The bytes of the body of a request that changes data. */
    body?: Uint8Array<ArrayBuffer> | undefined
    /**
     * With an Idempotency-Key: an id that is the same for every repeat of this request. A row with this id is stored only
     * once, even if a crash came between the action and the storing of its answer.
     */
    intentId?: string | undefined
  }
}

export type App = OpenAPIHono<Env>

/** What the routes work with. Routes contain no SQL: they call methods of the client. */
export interface ConsoleParts {
  /** The console's own client: few connections, short timeouts; never the host's pool. */
  stint: Stint
  contracts: ReadonlyMap<string, JobContract>
  /** The path where the console is mounted: '' or, for example, '/admin/jobs'. */
  basePath: string
  /** Facts about this console for `/v1/me`. */
  about: { environment: string | null; readOnly: boolean; insecure: boolean }
  /** The keys of approval links. */
  approvals: Pick<ApprovalsConfig, 'secrets'>
  /** Requests may enqueue kinds without a contract, unchecked, if they name the queue. */
  acceptUnknownKinds: boolean
  /** Requests refused with 503 because of a limit of the console, since it started. */
  limits: { refused: number }
  /** Executes operations in this process, from the first `wake()` on; undefined for a read-only console. */
  executor?: { wake(): void } | undefined
  /** Requests that wait for a job to end. */
  waiting: { requests: number }
  /** Connections at most, including that of the LISTEN. */
  connections: number
  /** Finds the caller of a request; called again while a stream is open. */
  identify: (request: Request) => Promise<Caller | undefined>
  /** Cursors of pages that are filtered to what a caller may see. */
  cursors: Cursors
  /** Reads that all screens share. */
  reads: SharedReads
  /** Streams of changes. */
  live: Live
}

/** A resource's routes: `app.ts` lists them all. */
export type Routes = (app: App, parts: ConsoleParts) => void
