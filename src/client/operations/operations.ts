import type { Refusals } from '../../operations/audit/refusals.ts'
import { StintError } from '../../core/errors.ts'
import { integerOption, invalidOption, oneOfOption, rejectUnknown } from '../../core/options.ts'
import { isUuid } from '../../core/uuid.ts'
import type { Queryable } from '../../db/statement.ts'
import { nextId } from '../../jobs/new/ids.ts'
import { prepareJob } from '../../jobs/new/new-job.ts'
import type { PreparedJob } from '../../jobs/new/new-job.ts'
import { sendBatch } from '../../jobs/new/send-batch.ts'
import { checkWords } from '../../jobs/search/check-words.ts'
import { findJobs, search } from '../../jobs/search/search.ts'
import type { FoundJob } from '../../jobs/search/search.ts'
import {
  endByHand,
  hasExecutor,
  insertOperation,
  operationOfIntent,
  resumeOperation,
  setPace,
} from '../../operations/execute/change.ts'
import { commandLine } from '../../operations/command-line.ts'
import { operationJob } from '../../operations/contract.ts'
import { listOperationJobs } from '../../operations/jobs.ts'
import type { OperationJobPage } from '../../operations/jobs.ts'
import { getOperation, listOperations, missingOperation } from '../../operations/operation.ts'
import type { OperationPage } from '../../operations/operation.ts'
import { jobOutcomes, operationStates } from '../../core/operation.ts'
import type { NewOperation, Operation } from '../../core/operation.ts'
import { countQuarantined, momentOf, probe } from '../../operations/execute/probe.ts'
import type { Probe, ProbeRequest, Takes } from '../../operations/execute/probe.ts'
import { hiddenWheres, targetWhere } from '../../operations/target.ts'
import { Act } from '../operator/act.ts'
import { entryOf, reasonOption } from '../operator/actor.ts'
import type { ActorConfig } from '../operator/actor.ts'
import { notingRefusal } from '../operator/auditing.ts'
import type { Calls } from '../calls.ts'
import { paceOption, resolvePreview, resolveStart, settingsOf, whereText } from './operation-options.ts'
import type {
  ListOperationJobsOptions,
  ListOperationsOptions,
  OperationRequest,
  StartOptions,
} from './operation-options.ts'

/** What an operation would do. */
export interface Preview extends Pick<
  Operation,
  'action' | 'canary' | 'pace' | 'stopIf' | 'max' | 'crashed' | 'cli'
> {
  /** Counted up to 10,000, or for a second. */
  matched: { count: number; isExact: boolean }
  /** Five example jobs, spread over all matches. */
  samples: FoundJob[]
  /** Jobs that the filter also matches and that are left out, by reason; each counted up to 1,000. */
  excluded: { reason: string; count: number }[]
  asOf: Date
}

/** How far a preview counts. */
const mostCounted = 10_000
const mostExcluded = 1_000
const probeMs = 1_000
/** The most jobs whose permission is checked one by one before an operation is stored. */
const mostTaken = 100_000
const takingMs = 20_000
const active = ['pending', 'canary', 'ramping'] as const

export interface OperationsConfig {
  actor: ActorConfig
  /** Called with a job that was stored. */
  onStored: (job: PreparedJob) => void
  refusals: Refusals
}

/**
 * Actions over many jobs: `stint.operations`. Each is previewed, tried on a few jobs, done in batches at a limited rate,
 * and can be paused or aborted; a Stint job of the queue `stint` executes it.
 */
export class Operations {
  readonly #calls: Calls
  readonly #config: OperationsConfig

  constructor(calls: Calls, config: OperationsConfig) {
    this.#calls = calls
    this.#config = config
  }

  /**
   * A preview: how many jobs, five examples, and what is left out. Changes nothing. With `takes`, jobs for which it returns
   * false count as absent.
   */
  async preview(options: NewOperation, takes?: Takes): Promise<Preview> {
    const request = resolvePreview(options)
    const { asOf, found } = await this.#probe(request, { most: mostCounted + 1, mostMs: probeMs, takes })
    const matched = {
      count: Math.min(found.ids.length, mostCounted),
      isExact: found.isAll && found.ids.length <= mostCounted,
    }
    const settings = settingsOf(request, { ...matched, crashed: await this.#crashed(request, found.ids) })
    const where = whereText(request.where)
    return {
      action: request.action,
      matched,
      samples: await this.#samples(found.ids),
      excluded: await this.#excluded(request, found.ids, takes),
      canary: settings.canary,
      pace: settings.pace,
      stopIf: settings.stopIf,
      max: settings.max,
      crashed: settings.crashed,
      asOf,
      cli: commandLine({ action: request.action, where, ids: request.ids ?? [] }, settings, null),
    }
  }

  /**
   * Starts an operation. Throws `too-many-matches` if more than `max` jobs match. If the executor finds that only later, the
   * operation stops before it has done anything.
   *
   * With `takes` it acts only on jobs for which `takes` returns true. They are all stored with the operation, because the
   * executing process cannot call `takes`: at most 100,000 jobs, searched for at most 20 seconds.
   */
  async start(options: StartOptions, takes?: Takes): Promise<Operation> {
    const { request, reason, intentId } = resolveStart(options)
    const { actor } = this.#config
    const earlier =
      intentId === null ? undefined : await this.#calls.send((db) => operationOfIntent(db, intentId))
    if (earlier !== undefined) return this.#find(earlier)
    const id = nextId()
    const { action, max } = request
    const target = whereText(request.where) ?? `${request.ids?.length ?? 0} jobs`
    return this.#act({ action: `operation.${action}`, target, id, reason }, async (calls, setAfter) => {
      const { asOf, found } = await this.#probe(request, {
        most: Math.min(max, takes === undefined ? mostCounted : mostTaken) + 1,
        mostMs: takes === undefined ? probeMs : takingMs,
        takes,
      })
      if (found.ids.length > max) throw tooMany(max)
      if (takes !== undefined && !(found.isAll && found.ids.length <= mostTaken)) throw tooManyToAsk()
      const matched = { count: found.ids.length, isExact: found.isAll }
      const crashed = await this.#crashed(request, found.ids)
      const settings = settingsOf(request, { ...matched, crashed })
      setAfter({ ...settings, matched: found.isAll ? found.ids.length : null })
      const job = await prepareJob(operationJob, { id }, {}, undefined)
      const isStored = await calls.write(
        async (tx, isRepeat) => {
          const { role, origin } = actor
          const who = { actor: actor.actor, role, origin, reason }
          const what = { id, intentId, action, filter: whereText(request.where), frozenAt: asOf, settings }
          const isNew = await insertOperation(tx, { ...what, ...who, jobId: job.job.id, ...found })
          if (isNew) await sendBatch(tx, [job], isRepeat)
          return isNew
        },
        { jobIds: [job.job.id], isTransaction: true, isDone: Boolean },
      )
      if (isStored) this.#config.onStored(job)
      return isStored || intentId === null
        ? id
        : ((await calls.send((db) => operationOfIntent(db, intentId))) ?? id)
    })
  }

  /** One operation, or undefined if it does not exist. */
  async get(id: string): Promise<Operation | undefined> {
    checkOperationId(id)
    return this.#calls.send((db) => getOperation(db, id))
  }

  /** A page of operations, newest first. */
  async list(options: ListOperationsOptions = {}): Promise<OperationPage> {
    const { state, limit = 50, cursor, ...rest } = options
    rejectUnknown('operations.list', rest, ['state', 'limit', 'cursor'])
    if (cursor !== undefined && !isUuid(cursor))
      throw invalidOption('cursor', 'the `next` of an earlier page', cursor)
    const states = state === undefined ? null : typeof state === 'string' ? [state] : [...state]
    const request = {
      states: states?.map((one) => oneOfOption('state', one, operationStates)) ?? null,
      before: cursor ?? null,
      limit: integerOption('limit', limit, { min: 1, max: 200 }),
    }
    return this.#calls.send((db) => listOperations(db, request))
  }

  /** A page of an operation's jobs with their outcomes, newest first; as long as the operation is kept. */
  async jobs(id: string, options: ListOperationJobsOptions = {}): Promise<OperationJobPage> {
    checkOperationId(id)
    const { outcome, limit = 200, cursor, ...rest } = options
    rejectUnknown('operations.jobs', rest, ['outcome', 'limit', 'cursor'])
    if (cursor !== undefined && !isUuid(cursor))
      throw invalidOption('cursor', 'the `next` of an earlier page', cursor)
    const request = {
      id,
      outcome: outcome === undefined ? null : oneOfOption('outcome', outcome, jobOutcomes),
      before: cursor ?? null,
      limit: integerOption('limit', limit, { min: 1, max: 1_000 }),
    }
    return this.#calls.send((db) => listOperationJobs(db, request))
  }

  /** Ends an operation for good after the current batch. Its changes so far stay. */
  async abort(id: string, { reason }: { reason?: string | undefined } = {}): Promise<Operation> {
    return this.#change('operation.abort', { id, reason }, (tx) =>
      endByHand(tx, { id, state: 'aborted', from: [...active, 'paused'], note: reason ?? null }),
    )
  }

  /** Pauses an operation after the current batch. */
  async pause(id: string, { reason }: { reason?: string | undefined } = {}): Promise<Operation> {
    return this.#change('operation.pause', { id, reason }, (tx) =>
      endByHand(tx, { id, state: 'paused', from: active, note: reason ?? null }),
    )
  }

  /** Resumes an operation that was paused, or whose job is gone. */
  async resume(id: string, { reason }: { reason?: string | undefined } = {}): Promise<Operation> {
    checkOperationId(id)
    const job = await prepareJob(operationJob, { id }, {}, undefined)
    const resumed = await this.#change(
      'operation.resume',
      { id, reason },
      async (tx, isRepeat) => {
        if (!(await resumeOperation(tx, { id, jobId: job.job.id }))) return false
        await sendBatch(tx, [job], isRepeat)
        return true
      },
      [job.job.id],
    )
    this.#config.onStored(job)
    return resumed
  }

  /** Changes how many jobs a second it acts on; null: as fast as it goes. */
  async setPace(
    id: string,
    pace: number | null,
    { reason }: { reason?: string | undefined } = {},
  ): Promise<Operation> {
    const checked = paceOption(pace)
    return this.#change('operation.pace', { id, reason, after: { pace: checked } }, (tx) =>
      setPace(tx, { id, pace: checked }),
    )
  }

  /** Whether a live process executes operations; without one they wait. */
  async hasExecutor(): Promise<boolean> {
    return this.#calls.send((db) => hasExecutor(db, operationJob.kind))
  }

  async #change(
    action: string,
    { id, reason, after }: { id: string; reason: string | undefined; after?: unknown },
    change: (tx: Queryable, isRepeat: boolean) => Promise<boolean>,
    jobIds: readonly string[] = [],
  ): Promise<Operation> {
    checkOperationId(id)
    return this.#act({ action, target: id, id, reason, after }, async (calls) => {
      const isDone = await calls.write(change, { jobIds, isTransaction: true, isDone: Boolean })
      if (isDone) return id
      const { state } = await this.#find(id)
      throw new StintError(
        'state-changed',
        `Operation ${id} is ${state}, and operations in this state do not allow this action.`,
      )
    })
  }

  /** Acts in a person's name and records the act or its refusal. `work` returns the id of the operation. */
  async #act(
    doing: { action: string; target: string; id: string; reason: string | undefined; after?: unknown },
    work: (calls: Calls, setAfter: (after: unknown) => void) => Promise<string>,
  ): Promise<Operation> {
    const { action, target, id, after } = doing
    const reason = reasonOption(doing.reason)
    const entry = entryOf(this.#config.actor, { action, target, reason, after, operationId: id })
    const act = new Act({ entry })
    return notingRefusal({ act, refusals: this.#config.refusals }, async () => {
      const done = await work(this.#calls.notedAs(act), (known) => {
        entry.after = known
      })
      return this.#find(done)
    })
  }

  async #find(id: string): Promise<Operation> {
    return (await this.get(id)) ?? missingOperation(id)
  }

  #probe(
    { action, where, ids, asOf: looked }: OperationRequest,
    bounds: Pick<ProbeRequest, 'most' | 'mostMs' | 'takes'>,
  ): Promise<{ asOf: Date; found: Probe }> {
    return this.#calls.send(async (db) => {
      const now = await momentOf(db)
      // Never a future time: jobs that die until then would be taken without a preview.
      const asOf = looked === undefined || looked > now ? now : looked
      if (ids !== undefined) return { asOf, found: { ids: [...ids], isAll: true, cursor: undefined } }
      const target = targetWhere(action, where ?? {})
      const found = await probe(db, { where: target, asOf, ...bounds })
      if (found.ids.length === 0 && bounds.takes === undefined) await checkWords(db, target)
      return { asOf, found }
    })
  }

  /** How many of the dead letters to be replayed crashed their worker. */
  async #crashed({ action }: OperationRequest, ids: readonly string[]): Promise<number> {
    if (action !== 'replay' || ids.length === 0) return 0
    const asked = ids.slice(0, mostCounted)
    return this.#calls.send((db) => countQuarantined(db, asked))
  }

  async #samples(ids: readonly string[]): Promise<FoundJob[]> {
    const count = Math.min(5, ids.length)
    const chosen = Array.from(
      { length: count },
      (_, n) => ids[Math.floor(((n + 0.5) * ids.length) / count)] ?? '',
    )
    if (count === 0) return []
    const page = await this.#calls.send((db) => search(db, { where: { ids: chosen }, limit: count }))
    return page.jobs
  }

  async #excluded(
    { action, where, ids }: OperationRequest,
    found: readonly string[],
    takes: Takes | undefined,
  ): Promise<{ reason: string; count: number }[]> {
    if (ids !== undefined) return this.#missing(found)
    const counts: { reason: string; count: number }[] = []
    for (const hidden of hiddenWheres(action, targetWhere(action, where ?? {}))) {
      const { ids: hit } = await this.#calls.send((db) =>
        probe(db, { where: hidden.where, most: mostExcluded, mostMs: probeMs / 4, takes }),
      )
      if (hit.length > 0) counts.push({ reason: hidden.reason, count: Math.min(hit.length, mostExcluded) })
    }
    return counts
  }

  /** The given ids that are not ids of jobs. */
  async #missing(ids: readonly string[]): Promise<{ reason: string; count: number }[]> {
    const there = await this.#calls.send((db) => findJobs(db, { where: { ids }, limit: ids.length }))
    const count = ids.length - there.jobs.length
    return count === 0 ? [] : [{ reason: 'not there', count }]
  }
}

function tooMany(max: number): StintError {
  return new StintError(
    'too-many-matches',
    `More than ${max} jobs match, which is the most allowed. Nothing was done: make the filter narrower, or raise \`max\`.`,
  )
}

function tooManyToAsk(): StintError {
  return new StintError(
    'too-many-matches',
    `Too many jobs to check your permission for each of them: at most ${mostTaken.toLocaleString('en')}, ` +
      `found within ${takingMs / 1_000} seconds. Nothing was done: make the filter narrower.`,
  )
}

function checkOperationId(id: unknown): asserts id is string {
  if (!isUuid(id)) throw invalidOption('id', "an operation's id (a UUID)", id)
}
