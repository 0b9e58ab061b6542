import type { Breakers } from '../breakers.ts'
import type { Scout } from '../claim/scout.ts'
import type { Activity } from '../report/activity.ts'
import type { Handlers, Registered } from '../handlers.ts'
import type { Children } from '../isolate/children.ts'
import type { Tenure } from '../lease/tenure.ts'
import type { Numbers } from '../report/numbers.ts'
import type { Endings } from '../report/endings.ts'
import type { Report } from '../report/report.ts'
import type { RetryBudgets } from '../settle/retry-budgets.ts'
import type { Settled, Settler } from '../settle/settler.ts'
import type { Deadlines } from '../watch/deadlines.ts'
import type { ContextServices } from './context.ts'
import { endedBefore, execute, executeBatch } from './execute.ts'
import type { HeldJob, Slot } from './held-job.ts'
import type { Notes } from './notes.ts'
import type { Ended, Outcome } from './outcome.ts'
import { penaliseRates } from './penalty.ts'
import type { PenaltyParts } from './penalty.ts'
import { invalidRow } from './row-fault.ts'

/** The parts of the worker that an attempt uses. */
export interface AttemptParts extends PenaltyParts {
  readonly handlers: Handlers
  readonly services: ContextServices
  readonly children: Children
  readonly tenure: Tenure
  readonly deadlines: Deadlines
  readonly notes: Notes
  readonly settler: Settler
  readonly budgets: RetryBudgets
  readonly scout: Scout
  readonly numbers: Numbers
  readonly report: Report
  readonly endings: Pick<Endings, 'ended'>
  readonly activity: Activity
  readonly breakers: Pick<Breakers, 'ended'>
}

/** Gives out slots, and room for claimed jobs. */
export interface SlotOwner {
  /** Its handler has returned: the slot is free for another job. */
  returned(held: HeldJob, slot: Slot, ranMs: number): void
  /** Its ending is stored or refused: there is room for another job. */
  letGo(held: HeldJob): void
}

/** Where and how an attempt runs: `call` calls the handler and returns its outcome. */
interface Attempt {
  readonly slot: Slot
  readonly registered: Registered
  readonly owner: SlotOwner
  readonly call: (held: HeldJob, registered: Registered, parts: AttemptParts) => Promise<Outcome>
}

/** One attempt, from its start to the stored ending. */
async function runAttempt(
  held: HeldJob,
  { slot, registered, owner, call }: Attempt,
  parts: AttemptParts,
): Promise<void> {
  const { deadlines, notes, settler, breakers } = parts
  let outcome: Outcome
  try {
    held.begin(slot, held.job.more?.timeoutMs ?? registered.contract.timeoutMs)
    deadlines.started(held)
    // A job that expired or was cancelled before its start only ends.
    if (endedBefore(held) === undefined) started(held, parts)
    outcome = await call(held, registered, parts)
  } catch (thrown) {
    // Attempts end in outcomes and do not throw: this error comes from a row that passed all checks.
    outcome = invalidRow(held.job, undefined, thrown)
  }
  const { contract } = registered
  if (contract.rates.length > 0) void penaliseRates(held, { outcome, contract }, parts)
  const ranMs = performance.now() - held.startedAt
  const isInTime = held.end()
  if (isInTime) deadlines.ended(held, ranMs)
  owner.returned(held, slot, ranMs)
  // If it was given up, its ending was stored without its handler.
  if (!isInTime) return
  if (notes.concerns(held)) await notes.finish(held, !isSuccess(outcome))
  const settled = await settler.settle({ held, outcome: breakers.ended({ held, outcome, ranMs }), ranMs })
  owner.letGo(held)
  tell(settled, parts)
}

/** Ends an attempt without its handler: the job must not start, or is given up. */
export async function endAttempt(ended: Ended, owner: SlotOwner, parts: AttemptParts): Promise<void> {
  const { held, outcome } = ended
  if (parts.notes.concerns(held)) await parts.notes.finish(held, !isSuccess(outcome))
  await endWithoutNotes(ended, owner, parts)
}

/** The same at the end of a stop, which does not wait for the job's last notes. */
export async function endWithoutNotes(ended: Ended, owner: SlotOwner, parts: AttemptParts): Promise<void> {
  const settled = await parts.settler.settle({ ...ended, outcome: parts.breakers.ended(ended) })
  owner.letGo(ended.held)
  tell(settled, parts)
}

/** Calls the handler of a slot. Each of its jobs, usually one, is an attempt of its own. */
export function runSlot(slot: Slot, registered: Registered, owner: SlotOwner, parts: AttemptParts): void {
  const { batch } = slot
  const call = batch.length === 1 ? callAlone : callTogether(batch, parts)
  const attempt = { slot, registered, owner, call }
  for (const held of batch) void runAttempt(held, attempt, parts)
}

function callAlone(
  held: HeldJob,
  registered: Registered,
  { handlers, services, children }: AttemptParts,
): Promise<Outcome> {
  // No child is started for a job that must not start.
  const isIsolated = children.takes(held, registered) && endedBefore(held) === undefined
  return isIsolated ? children.run(held, registered) : execute(held, handlers, services)
}

/** Calls the handler once for all jobs of a batch, after all of them have begun. */
function callTogether(
  batch: readonly HeldJob[],
  { handlers, services }: AttemptParts,
): (held: HeldJob) => Promise<Outcome> {
  const called = Promise.resolve().then(async () => {
    const begun = batch.filter(({ phase }) => phase === 'running')
    const outcomes = await executeBatch(begun, handlers, services)
    return new Map(begun.map((held, index) => [held, outcomes[index]]))
  })
  return async (held) => {
    const outcome = (await called).get(held)
    if (outcome === undefined) throw new Error('The batch has no outcome for this job')
    return outcome
  }
}

function started(held: HeldJob, { tenure, budgets, numbers, report }: AttemptParts): void {
  budgets.started(held)
  tenure.mayLastUntil(held.deadlineAt)
  numbers.started(held)
  report.started(held)
}

/** Counts and reports the result of an attempt, now that it is stored. */
function tell(settled: Settled, { scout, numbers, report, endings, activity }: AttemptParts): void {
  if (settled.type === 'refused') {
    numbers.refused(settled)
    report.refused(settled)
    return
  }
  activity.note()
  const { outcome, held } = settled
  if (outcome.type === 'retry' || outcome.type === 'snoozed' || outcome.type === 'crashed')
    scout.dueIn(outcome.delayMs + 1)
  if (outcome.type === 'waiting' && outcome.untilMs !== undefined) scout.dueIn(outcome.untilMs + 1)
  if (outcome.type === 'released') scout.jobReturned(held.job)
  if (isSuccess(outcome) || outcome.type === 'dead' || outcome.type === 'cancelled')
    endings.ended(held.job.id)
  numbers.settled(settled)
  report.settled(settled)
}

function isSuccess({ type }: Outcome): boolean {
  return type === 'succeeded' || type === 'completed' || type === 'handed-over'
}
