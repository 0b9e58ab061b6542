import { origins } from '../../operations/audit/audit.ts'
import type { NewAuditEntry, Origin } from '../../operations/audit/audit.ts'
import { boundedText } from '../../core/names.ts'
import { invalidOption, oneOfOption, rejectUnknown } from '../../core/options.ts'
import { nextId } from '../../jobs/new/ids.ts'

/** The person or program that acts. */
export interface Actor {
  /** A name for people: `ana`, `cli:ana@host`. */
  actor: string
  role?: string | undefined
  /** @default 'code' */
  origin?: Origin | undefined
  /** The id of the HTTP request. */
  requestId?: string | undefined
}

export interface ActorConfig {
  readonly actor: string
  readonly role: string | null
  readonly origin: Origin
  readonly requestId: string | null
}

export function resolveActor({ actor, role, origin = 'code', requestId, ...rest }: Actor): ActorConfig {
  rejectUnknown('as()', rest, ['actor', 'role', 'origin', 'requestId'])
  if (!boundedText(actor, 512)) throw invalidOption('actor', 'a text of 1 to 512 bytes', actor)
  return Object.freeze({
    actor,
    role: optionalText('role', role),
    origin: oneOfOption('origin', origin, origins),
    requestId: optionalText('requestId', requestId),
  })
}

/** An audit entry for an act of this person. */
export function entryOf(
  actor: ActorConfig,
  act: {
    action: string
    target: string
    reason?: string | null | undefined
    after?: unknown
    operationId?: string | undefined
  },
): NewAuditEntry {
  return {
    ...actor,
    id: nextId(),
    action: act.action,
    target: act.target,
    outcome: 'done',
    reason: reasonOption(act.reason),
    before: null,
    after: act.after ?? null,
    operationId: act.operationId ?? null,
  }
}

/** The reason for the audit: up to 1,000 characters. */
export function reasonOption(reason: unknown): string | null {
  if (reason === undefined || reason === null) return null
  if (boundedText(reason, 4_000) && reason.length <= 1_000) return reason
  throw invalidOption('reason', 'a text of 1 to 1,000 characters', reason)
}

function optionalText(name: string, value: unknown): string | null {
  if (value === undefined || value === null) return null
  if (boundedText(value, 512)) return value
  throw invalidOption(name, 'a text of 1 to 512 bytes', value)
}
