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
  /** What is to be another. */
  body: Omit<SetScheduleBody, 'reason'>
  /** As it is stored; undefined where it is new. */
  stored: ScheduleDefinition | undefined
  caller: Caller
}

/** A schedule as a request wants it: what that does not say of a stored one stays as it is. */
export function wantedDefinition(
  parts: Pick<ConsoleParts, 'contracts' | 'acceptUnknownKinds'>,
  { name, body, stored, caller }: WantedSchedule,
): ScheduleDefinition {
  const { kind = stored?.job.kind, queue, priority, attempts, input: given, ...changes } = body
  if (kind === undefined) throw missing('kind', 'is required of a new schedule')
  const input = given === undefined ? undefined : wholeInput(parts, { kind, given, stored, caller })
  if (input === undefined && stored !== undefined && !('input' in stored))
    throw missing('input', 'is required: it is made by code, which is not known here')
  // One that is not for whoever asks is as one that is not there.
  const contracts = new Map(
    [...parts.contracts].filter(([, one]) => caller.can('view', { queue: one.queue, kind: one.kind })),
  )
  // What is stored was checked when it was; a new input, or kind, is for the contract to judge.
  const isKept = stored?.job.kind === kind && (input === undefined || !contracts.has(kind))
  const job = isKept
    ? stored.job
    : contractOf({ ...parts, contracts }, { kind, queue: queue ?? stored?.job.queue }, { caller })
  return changed(
    { ...stored, name, job },
    { ...changes, ...(input === undefined ? {} : { input }), options: { queue, priority, attempts } },
  )
}

/** The input with what is stored where it still says `[redacted]`; of another kind nothing is put back. */
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
      throw maskedByHost('Leave `input` out: then it stays as it is.')
  }
  const { value, pointer } = restoreRedacted(given, original, contracts.get(kind)?.redact ?? [])
  if (pointer !== undefined) throw maskWithoutOriginal(`/input${pointer}`)
  return value
}

function missing(name: string, message: string): HttpProblem {
  return invalidRequest('json', [{ path: [name], message }])
}
