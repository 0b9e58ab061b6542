import { checkPayload, signalName } from '../../contracts/signal.ts'
import type { SignalContract } from '../../contracts/signal.ts'
import { StintError } from '../../core/errors.ts'
import { boundedText } from '../../core/names.ts'
import { invalidOption, rejectUnknown } from '../../core/options.ts'
import { foreignTx } from '../../db/foreign-tx.ts'
import type { Queryable } from '../../db/statement.ts'
import { sendSignal } from '../../flows/waiting/waiting.ts'
import type { SentSignal } from '../../flows/waiting/waiting.ts'
import { nextId } from '../../jobs/new/ids.ts'
import type { Announcer } from '../../jobs/wake-up/announcer.ts'
import type { Calls } from '../calls.ts'
import { checkId, missingJob } from '../job-id.ts'
import type { StintConfig } from '../options.ts'

export interface SignalOptions<Tx> {
  /** A second signal of this name with the same key to the same job is a duplicate. */
  key?: string | undefined
  /** Who sends it, for people. */
  by?: string | undefined
  /** Send it in your transaction: it arrives when you commit, and never if you roll back. */
  tx?: Tx | undefined
}

export interface SignalResult {
  id: string
  /** No new signal was stored: an earlier one has this key, and `id` is that one's. */
  duplicate: boolean
}

/** A signal to send; with `tx` in that transaction. */
export interface SignalRequest {
  signal: SignalContract | string
  payload: unknown
  key: string | undefined
  by: string | undefined
  tx?: Queryable | undefined
}

export function resolveSignalOptions<Tx>(
  { key, by, tx, ...rest }: SignalOptions<Tx>,
  { adapter, schema }: StintConfig<Tx>,
): Pick<SignalRequest, 'key' | 'by' | 'tx'> {
  rejectUnknown('signal()', rest, ['key', 'by', 'tx'])
  return { key, by, tx: tx === undefined ? undefined : foreignTx(tx, adapter, schema) }
}

/** Sends a signal to a job. Throws `job-not-found`, `job-ended`, `too-many-signals`, or `invalid-input` for its payload. */
export async function signalJob(
  { calls, announcer }: { calls: Calls; announcer: Announcer },
  jobId: string,
  { signal, payload, key, by, tx }: SignalRequest,
): Promise<SignalResult> {
  checkId(jobId)
  if (key !== undefined && !boundedText(key, 512))
    throw invalidOption('key', 'a string of 1 to 512 bytes that Postgres can store', key)
  if (by !== undefined && !boundedText(by, 512))
    throw invalidOption('by', 'a string of 1 to 512 bytes that Postgres can store', by)
  const request = {
    job: jobId,
    name: signalName(signal),
    payload: await checkPayload(signal, payload),
    key: key ?? null,
    by: by ?? null,
    // Made here, so that a call whose reply was lost can be repeated.
    id: nextId(),
  }
  const sent =
    tx === undefined
      ? await calls.write((db) => sendSignal(db, request), { isDone: ({ outcome }) => outcome === 'sent' })
      : await sendSignal(tx, request)
  announce(sent, announcer, tx !== undefined)
  return resultOf(sent, request)
}

function announce({ queue, priority, key }: SentSignal, announcer: Announcer, isInTx: boolean): void {
  if (queue === null || priority === null) return
  const hints = new Set([{ queue, priority, keyed: key !== null, key: key ?? undefined, inMs: 0 }])
  if (isInTx) announcer.storedInTransaction(hints)
  else announcer.stored(hints)
}

function resultOf({ outcome, id }: SentSignal, { job, name }: { job: string; name: string }): SignalResult {
  switch (outcome) {
    case 'sent':
    case 'duplicate':
      return { id, duplicate: outcome === 'duplicate' }
    case 'not-found':
      return missingJob(job)
    case 'ended':
      throw new StintError('job-ended', `Job ${job} has ended: the signal '${name}' was not sent.`, {
        jobIds: [job],
      })
    case 'full':
      throw new StintError(
        'too-many-signals',
        `Job ${job} has 1,000 signals that it has not taken: '${name}' was not sent. Its handler has to wait for them.`,
        { jobIds: [job], retryAfterMs: 2_000 },
      )
  }
}
