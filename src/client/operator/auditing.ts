import { isStintError } from '../../core/errors.ts'
import type { ErrorCode } from '../../core/errors.ts'
import { invalidOption, rejectUnknown } from '../../core/options.ts'
import { writeAudit } from '../../operations/audit/audit.ts'
import type { Refusals } from '../../operations/audit/refusals.ts'
import type { Calls } from '../calls.ts'
import { checkId } from '../job-id.ts'
import { Act, resolveExpect } from './act.ts'
import type { Expect } from './act.ts'
import { entryOf } from './actor.ts'
import type { ActorConfig } from './actor.ts'

export interface ReasonOption {
  /** Why, for the audit. */
  reason?: string | undefined
}

/** The options that every act on one job takes beside its own. */
export interface ActOptions extends ReasonOption {
  /** The state that the person saw. If the job is in another state: `state-changed`, with the job as it is now. */
  expect?: Expect | undefined
}

export interface AuditConfig<Parts> {
  actor: ActorConfig
  calls: Calls
  /** Makes the parts of the client that the verbs call, on these calls. */
  partsOn: (calls: Calls) => Parts
  refusals: Refusals
}

/** What a verb takes: its target, and its options if it has any. */
type Arguments = [target: unknown, options?: unknown]

interface Verb<Parts, Args extends Arguments, Result> extends VerbRules {
  /** Its name in the audit: `job.replay`. */
  action: string
  run: Run<Parts, Args, Result>
  /** Its target is a job: the job is locked, compared with `expect`, and shown as `before`. */
  isOnJob: boolean
}

interface VerbRules {
  /** Names of the options that the audit entry shows as `after`; never an input. */
  noted?: readonly string[]
  /** Names of the other options. */
  unnoted?: readonly string[]
  /** For a verb whose first argument is not the name of its target. */
  describe?: (target: never) => { target: string; after: unknown }
}

/** Makes the change. It gets the options without `reason` and `expect`. */
type Run<Parts, Args extends Arguments, Result> = (
  parts: Parts & ReasonOption,
  ...args: Args
) => Promise<Result>

/** The arguments of a verb with these options added to its own; an optional parameter stays optional. */
type Adding<Options, Args extends Arguments> = Args extends [unknown]
  ? [...Args, options?: Options]
  : { [Index in keyof Args]: Index extends '0' ? Args[Index] : Args[Index] & Options }

/**
 * The decorators around every change that a person makes: `onJob` for verbs on one job, `on` for all others. They split
 * `reason` and `expect` off the options, make the change and its audit entry in one transaction, and write an entry
 * about a refusal too.
 */
export function auditing<Parts>({ actor, calls, partsOn, refusals }: AuditConfig<Parts>) {
  const perform = async <Args extends Arguments, Result>(
    { action, run, isOnJob, noted = [], unnoted = [], describe }: Verb<Parts, Args, Result>,
    args: unknown[],
  ): Promise<Result> => {
    const [first, options = {}] = args as [target: unknown, options?: ActOptions]
    const known = [...noted, ...unnoted, ...(isOnJob ? ['expect'] : []), 'reason']
    const unknown = pick(options, (name) => !known.includes(name))
    rejectUnknown(action, unknown, known)
    const { reason, expect, ...others } = options
    // Only the state of a job is compared here; other verbs compare their own.
    const own = isOnJob || expect === undefined ? others : { ...others, expect }
    const { target, after } = describe?.(first as never) ?? {
      target: isOnJob ? jobId(first) : nameOf(first),
      after: noted.length === 0 ? null : pick(own, (name) => noted.includes(name)),
    }
    const entry = entryOf(actor, { action, target, reason, after })
    const act = new Act({
      entry,
      jobId: isOnJob ? target : undefined,
      expect: isOnJob ? resolveExpect(expect) : undefined,
    })
    return notingRefusal({ act, refusals }, async () => {
      const parts = { ...partsOn(calls.notedAs(act)), reason }
      const result = await run(parts, ...([first, own] as unknown as Args))
      // Nothing had to be changed, but the request itself belongs in the audit.
      if (!act.isNoted) await calls.send((db) => writeAudit(db, entry))
      return result
    })
  }
  return {
    onJob:
      <Args extends [id: string, options?: unknown], Result>(
        action: string,
        run: Run<Parts, Args, Result>,
        rules: VerbRules = {},
      ) =>
      (...args: Adding<ActOptions, Args>): Promise<Result> =>
        perform({ action, run, isOnJob: true, ...rules }, args),
    on:
      <Args extends Arguments, Result>(
        action: string,
        run: Run<Parts, Args, Result>,
        rules: VerbRules = {},
      ) =>
      (...args: Adding<ReasonOption, Args>): Promise<Result> =>
        perform({ action, run, isOnJob: false, ...rules }, args),
  }
}

/** Runs an act; writes an audit entry if the current state refuses it. */
export async function notingRefusal<Result>(
  { act, refusals }: { act: Act; refusals: Refusals },
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!act.isNoted && isRefusal(error)) {
      const after = { refused: error.code, message: error.message }
      // An operation that was not found, or not stored, has no row that the entry could refer to.
      const operationId = error.code === 'state-changed' ? act.entry.operationId : null
      await refusals.note({ ...act.entry, outcome: 'refused', after, operationId })
    }
    throw error
  }
}

/** Errors that refuse an act because of the current state; database trouble and wrong options are not noted. */
const refusalCodes: readonly ErrorCode[] = [
  'state-changed',
  'duplicate-job',
  'job-not-found',
  'job-ended',
  'too-many-signals',
  'schedule-not-found',
  'limit-not-found',
  'breaker-not-found',
  'operation-not-found',
  'flow-not-found',
  'flow-ended',
  'invalid-input',
  'contract-mismatch',
  'too-many-matches',
]

function isRefusal(error: unknown): error is Error & { code: ErrorCode } {
  return isStintError(error) && refusalCodes.includes(error.code)
}

function jobId(id: unknown): string {
  checkId(id)
  return id
}

function nameOf(target: unknown): string {
  if (typeof target === 'string' && target !== '' && !target.includes('\0')) return target
  throw invalidOption('name', 'a name', target)
}

function pick(options: object, isWanted: (name: string) => boolean): object {
  return Object.fromEntries(Object.entries(options).filter(([name]) => isWanted(name)))
}
