import type { ScheduleDefinition } from '../../schedules/rules/define-schedule.ts'
import { changed } from '../../schedules/rules/definition.ts'
import type { SetScheduleBody } from '../api/schedule.ts'
import type { Caller } from '../auth/caller.ts'
import type { ConsoleParts } from '../context.ts'
import { invalidRequest } from '../http/invalid-request.ts'
import { maskedByHost, maskWithoutOriginal } from '../auth/redacted-input.ts'
import { contractOf } from './new-job.ts'
import type { HttpProblem } from '../http/problem.ts'
import { redactFor, restoreRedacted } from '../auth/redact.ts'

export interface WantedSchedule {
  name: string
  /** The fields to change. */
  body: Omit<SetScheduleBody, 'reason'>
  /** The stored definition; undefined for a new schedule. */
  stored: ScheduleDefinition | undefined
  caller: Caller
}

/** The definition that a request asks for. Fields that the request leaves out keep their stored value. */
export function wantedDefinition(
  parts: Pick<ConsoleParts, 'contracts' | 'acceptUnknownKinds'>,
  { name, body, stored, caller }: WantedSchedule,
): ScheduleDefinition {
  const { kind = stored?.job.kind, queue, priority, attempts, input: given, ...changes } = body
  if (kind === undefined) throw missing('kind', 'is required for a new schedule')
  const input = given === undefined ? undefined : wholeInput(parts, { kind, given, stored, caller })
  if (input === undefined && stored !== undefined && !('input' in stored))
    throw missing(
      'input',
      'is required: the stored schedule makes its input with code, which the console does not have',
    )
  // A contract that the caller may not see is treated as missing.
  const contracts = new Map(
    [...parts.contracts].filter(([, one]) => caller.can('view', { queue: one.queue, kind: one.kind })),
  )
  // The stored input was checked when it was stored. Only a new input or kind needs the contract.
  const isKept = stored?.job.kind === kind && (input === undefined || !contracts.has(kind))
  const job = isKept
    ? stored.job
    : contractOf({ ...parts, contracts }, { kind, queue: queue ?? stored?.job.queue }, { caller })
  return changed(
    { ...stored, name, job },
    { ...changes, ...(input === undefined ? {} : { input }), options: { queue, priority, attempts } },
  )
}

/** The given input, with stored values in place of `[redacted]`. If the kind changes, no value is restored. */
function wholeInput(
  { contracts }: Pick<ConsoleParts, 'contracts'>,
  {
    kind,
    given,
    stored,
    caller,
  }: Pick<WantedSchedule, 'stored' | 'caller'> & { kind: string; given: unknown },
): unknown {
  const original = stored?.job.kind === kind && 'input' in stored ? stored.input : undefined
  if (stored !== undefined && original !== undefined) {
    const job = { kind, queue: stored.options?.queue ?? stored.job.queue, key: null }
    if (redactFor(caller, { contracts }, job, original).isByHost)
      throw maskedByHost('Leave out `input` to keep the stored one.')
  }
  const { value, pointer } = restoreRedacted(given, original, contracts.get(kind)?.redact ?? [])
  if (pointer !== undefined) throw maskWithoutOriginal(`/input${pointer}`)
  return value
}

function missing(name: string, message: string): HttpProblem {
  return invalidRequest('json', [{ path: [name], message }])
}
