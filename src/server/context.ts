import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Stint } from '../client/stint.ts'
import type { JobContract } from '../contracts/contract.ts'
import type { Action, Role } from './api/common.ts'

/** Who asks, as `auth` or a token says. */
export interface Caller {
  /** A name for people and the audit. */
  actor: string
  role: Role
  /** Whether this caller may do it; a role's actions, narrowed by `can` of the host's `auth`. */
  can: (action: Action, resource?: Resource) => boolean
  /** A browser with a cookie, or a program with a token. */
  origin: 'dashboard' | 'api'
}

/** What an action is about, for a host that scopes its people. */
export interface Resource {
  queue?: string | undefined
  kind?: string | undefined
  key?: string | null | undefined
}

/** What every request carries through the routes. */
export interface Env {
  Variables: { caller: Caller; requestId: string }
}

export type App = OpenAPIHono<Env>

/** What the routes work with. They hold no SQL: what they need of the database is a method of the client. */
export interface ConsoleParts {
  /** The console's own client: few connections, short timeouts; never the host's pool. */
  stint: Stint
  contracts: ReadonlyMap<string, JobContract>
  /** Where it is mounted: '' or '/admin/jobs'. */
  basePath: string
}

/** A resource's routes: `app.ts` lists them all. */
export type Routes = (app: App, parts: ConsoleParts) => void
