import type { Action, Role } from '../api/common.ts'

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

/** The job that a value belongs to: the host's own redaction may depend on any of these. */
export interface RedactedJob {
  kind: string
  queue: string
  key: string | null
}
