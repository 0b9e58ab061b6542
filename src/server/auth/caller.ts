import type { Action, Role } from '../api/common.ts'

/** The caller of a request, known by a token or by the host's `auth`. */
export interface Caller {
  /** The caller's name, shown to people and stored in the audit log. */
  actor: string
  role: Role
  /** Whether this caller may do the action: the role's actions, narrowed by `can` of the host's `auth`. */
  can: (action: Action, resource?: Resource) => boolean
  /** False if the host does not narrow the role: then no check per job is needed. */
  isNarrowed?: boolean | undefined
  /** A browser with a cookie, or a program with a token. */
  origin: 'dashboard' | 'api'
  /** The host's own redaction of a value that a job carries, after ours; see `redactFor`. */
  redact?: ((value: unknown, job: RedactedJob) => unknown) | undefined
}

/** The jobs that an action concerns, for a host that narrows roles. A field that is left out means all its values. */
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
