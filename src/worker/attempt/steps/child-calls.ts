import { setImmediate as nextTurn } from 'node:timers/promises'
import type { InputOf, JobContract } from '../../../contracts/contract.ts'
import { isStintError, StintError } from '../../../core/errors.ts'
import { peek } from '../../../core/failures/thrown.ts'
import { isUuid } from '../../../core/uuid.ts'
import { durationOption, invalidOption, rejectUnknown } from '../../../core/options.ts'
import { mostLevels } from '../../../flows/children/children.ts'
import type { StepRecord } from '../../../flows/steps/steps.ts'
import { hasEnded } from '../../../jobs/follow/look.ts'
import type { JobOptions } from '../../../jobs/new/enqueue-options.ts'
import { nextId } from '../../../jobs/new/ids.ts'
import type { PreparedJob } from '../../../jobs/new/new-job.ts'
import type { Call } from './call.ts'
import {
  endedOf,
  lookFailure,
  mostResultBytes,
  readAll,
  readOutputs,
  resultsTooLarge,
} from './child-results.ts'
import type { ChildSet, Seen } from './child-results.ts'
import { resolveAll, resolveJoin, resolveSpawn } from './child-options.ts'
import type {
  AllOptions,
  Child,
  Children,
  Ended,
  JoinOptions,
  OnDead,
  SpawnOptions,
  WaitForJobOptions,
} from './child-options.ts'
import type { ChildStore } from './child-store.ts'
import type { Journal } from './journal.ts'
import type { TimedOut } from './step-options.ts'
import { isNotItsOwn } from './steps.ts'
import type { Steps } from './steps.ts'

/** Children of one call, and jobs that one call waits for. */
const mostChildren = 100_000
const mostJobs = 1_000
/** Inputs that are checked in one turn of the event loop. */
const inputsOfTurn = 1_000

export interface ChildCallsConfig {
  steps: Steps
  journal: Journal
  store: ChildStore
  /** Checks an input and makes a job of it. */
  prepare: (contract: JobContract, input: unknown, options: JobOptions) => PreparedJob | Promise<PreparedJob>
}

/**
 * The calls of a handler's context that make jobs and wait for them.
 *
 * The children of a call are a flow with one node (0018_children.sql). Its id and size are in the record of the call, which is
 * stored by the same statement. A call that also waits has one record, `open` until its wait is over: then it says which child
 * had failed, if the handler was told so. The outputs themselves are read again by each attempt; they do not change any more,
 * because the look that ended the wait has marked them as read.
 */
export class ChildCalls {
  readonly #steps: Steps
  readonly #journal: Journal
  readonly #store: ChildStore
  readonly #prepare: ChildCallsConfig['prepare']
  /** The sets behind the handles that this attempt has given out. */
  readonly #sets = new WeakMap<object, ChildSet>()

  constructor({ steps, journal, store, prepare }: ChildCallsConfig) {
    this.#steps = steps
    this.#journal = journal
    this.#store = store
    this.#prepare = prepare
  }

  spawn(contract: JobContract, input: unknown, options: SpawnOptions = {}): Promise<Child<unknown>> {
    const { name, job } = resolveSpawn(options, contract.kind)
    return this.#steps.call(`spawn:${name}`, 'spawn', async (call, before) => {
      const one = await this.#once(call, before, async () => {
        await this.#journal.mayBegin(call)
        const prepared = await this.#prepare(contract, input, job)
        return this.#keepSet(call, contract.kind, { jobs: [prepared], state: 'done', id: prepared.job.id })
      })
      const child: Child<unknown> = Object.freeze({ id: one.id ?? '', kind: contract.kind })
      this.#sets.set(child, one)
      return child
    })
  }

  spawnAll(
    contract: JobContract,
    inputs: Iterable<unknown>,
    options: SpawnOptions = {},
  ): Promise<Children<unknown>> {
    const { name, job } = resolveSpawn(options, contract.kind)
    checkInputs(inputs)
    return this.#steps.call(`spawn:${name}`, 'spawn', async (call, before) => {
      const set = await this.#once(call, before, () =>
        this.#storeAll(call, contract, { inputs, job, state: 'done' }),
      )
      return { kind: contract.kind, size: set.size, results: () => this.#results(set, name) }
    })
  }

  all(contract: JobContract, inputs: Iterable<unknown>, options?: AllOptions): Promise<unknown[]>
  all(children: readonly Child<unknown>[], options?: JoinOptions): Promise<unknown[]>
  all(
    first: JobContract | readonly Child<unknown>[],
    second: Iterable<unknown> | JoinOptions = {},
    third: AllOptions = {},
  ): Promise<unknown[]> {
    if (Array.isArray(first)) return this.#join(first as readonly Child<unknown>[], second as JoinOptions)
    return this.#fanOut(first as JobContract, second as Iterable<unknown>, third)
  }

  waitForJob(
    contract: JobContract,
    ids: string | readonly string[],
    { timeout, ...rest }: WaitForJobOptions = {},
  ): Promise<Ended<unknown>[] | TimedOut> {
    rejectUnknown('ctx.waitForJob()', rest, ['timeout'])
    const untilMs = timeout === undefined ? undefined : durationOption('timeout', timeout, { minMs: 1 })
    const wanted = idsOf(ids)
    return this.#steps.call(`job:${contract.kind}`, 'job', async (call, before) => {
      if (before !== undefined && before.state !== 'open')
        return (await this.#steps.again(before)) as Ended<unknown>[] | TimedOut
      if (before === undefined) await this.#journal.mayBegin(call)
      const states = await this.#store.states(wanted)
      const looks = wanted.map((id) => states.get(id))
      for (const [index, look] of looks.entries())
        if (look?.kind !== contract.kind)
          return this.#fail(call, noSuchJob(contract.kind, wanted[index], look?.kind))
      const ended = looks.flatMap((look) => (look !== undefined && hasEnded(look) ? [endedOf(look)] : []))
      if (ended.length === wanted.length) return (await this.#keepEnded(call, ended)) as Ended<unknown>[]
      if (before?.isOver === true) {
        await this.#journal.done(call, { result: '{"timedOut":true}' })
        return { timedOut: true }
      }
      const left = before === undefined ? untilMs : this.#journal.leftMs(before)
      const jobs = looks.flatMap((look) => (look === undefined || hasEnded(look) ? [] : [look.id]))
      return this.#journal.stop(call, {
        type: 'wait',
        isNew: before === undefined,
        until: { untilMs: left },
        jobs,
      })
    })
  }

  /** Makes children and waits for them: one record. */
  #fanOut(contract: JobContract, inputs: Iterable<unknown>, options: AllOptions): Promise<unknown[]> {
    const { onDead, name, job } = resolveAll(options, contract.kind)
    checkInputs(inputs)
    return this.#steps.call(`all:${name}`, 'spawn', async (call, before) => {
      const set = await this.#once(call, before, () =>
        this.#storeAll(call, contract, { inputs, job, state: 'open' }),
      )
      const sets = [set]
      const seen =
        before?.state === 'done'
          ? seenIn(before)
          : await this.#wait(call, sets, { onDead, isNew: before === undefined })
      return this.#resultsOf(sets, { onDead, seen, kinds: contract.kind })
    })
  }

  /** Waits for children that other calls have made. */
  #join(children: readonly Child<unknown>[], options: JoinOptions): Promise<unknown[]> {
    const { onDead, name } = resolveJoin(options)
    const sets = children.map((child, index) => {
      const set = this.#sets.get(child)
      if (set === undefined)
        throw invalidOption(`children[${index}]`, 'what ctx.spawn() of this attempt returned', child)
      return set
    })
    return this.#steps.call(`all:${name}`, 'job', async (call, before) => {
      if (before === undefined) await this.#journal.mayBegin(call)
      const seen =
        before?.state === 'done'
          ? seenIn(before)
          : await this.#wait(call, sets, { onDead, isRecorded: before !== undefined })
      return this.#resultsOf(sets, {
        onDead,
        seen,
        kinds: [...new Set(children.map(({ kind }) => kind))].join(', '),
      })
    })
  }

  async *#results(set: ChildSet, name: string): AsyncGenerator<Ended<unknown>> {
    await this.#steps.call(`results:${name}`, 'job', async (call, before) => {
      if (before?.state === 'done') return
      if (before === undefined) await this.#journal.mayBegin(call)
      await this.#wait(call, [set], { onDead: 'collect', isRecorded: before !== undefined })
    })
    for await (const { ended } of readOutputs(this.#store, [set])) yield ended
  }

  /** Returns what the handler is told of a failure, once the wait is over; else the attempt ends here. */
  async #wait(
    call: Call,
    sets: readonly ChildSet[],
    { onDead, isNew = false, isRecorded = true }: { onDead: OnDead; isNew?: boolean; isRecorded?: boolean },
  ): Promise<Seen> {
    const flows = sets.flatMap(({ flow, size }) => (size === 0 ? [] : [flow]))
    const [atFailure, cancels] = [onDead === 'fail' || onDead === 'cancel', onDead === 'cancel']
    let open = flows
    // Children that were just made have not ended; suspend() looks once more.
    if (!isNew || flows.length === 0) {
      const { job } = this.#journal.held
      const request = { id: job.id, lease: job.leaseId, flows, atFailure, cancels }
      const look =
        flows.length === 0 ? { isOver: true, failed: null, openFlows: [] } : await this.#store.look(request)
      if (look === undefined) throw this.#journal.lost()
      if (look.isOver) {
        const seen: Seen = look.failed === null ? {} : { failed: look.failed }
        const [set] = sets
        const stored = isRecorded && call.type === 'spawn' ? { ...set, ...seen } : seen
        await this.#journal.done(call, { result: JSON.stringify(stored) })
        return seen
      }
      open = look.openFlows
    }
    // One set after the other, so that a parent of many sets is not woken for each of them; by a failure of any at once.
    const waits = open.map(
      (flow, index) => [flow, index > 0 ? 'failed' : atFailure ? 'dead' : 'ended'] as const,
    )
    return this.#journal.stop(call, {
      type: 'wait',
      isNew: !isRecorded,
      until: {},
      flows: Object.fromEntries(atFailure ? waits : waits.slice(0, 1)),
    })
  }

  async #resultsOf(
    sets: readonly ChildSet[],
    { onDead, seen, kinds }: { onDead: OnDead; seen: Seen; kinds: string },
  ): Promise<unknown[]> {
    if (seen.failed !== undefined) throw lookFailure(seen.failed, kinds)
    const all = await readAll(this.#store, sets, kinds)
    if (onDead === 'collect') return all
    return all.flatMap((one) => (one.state === 'succeeded' ? [one.result] : []))
  }

  /** The set of an earlier attempt, or a new one. */
  async #once(call: Call, before: StepRecord | undefined, make: () => Promise<ChildSet>): Promise<ChildSet> {
    if (before === undefined) return make()
    const set = setIn(before.result)
    return set ?? this.#journal.park(call, `the record of '${call.name}' names no children`)
  }

  async #storeAll(
    call: Call,
    contract: JobContract,
    { inputs, job, state }: { inputs: Iterable<unknown>; job: JobOptions; state: 'open' | 'done' },
  ): Promise<ChildSet> {
    await this.#journal.mayBegin(call)
    const jobs: PreparedJob[] = []
    for (const input of inputs) {
      if (jobs.length === mostChildren) throw tooMany()
      jobs.push(await this.#preparedAt(jobs.length, { contract, input, job }))
      if (jobs.length % inputsOfTurn === 0) await nextTurn()
    }
    return this.#keepSet(call, contract.kind, { jobs, state })
  }

  /** An error names the input among many. */
  async #preparedAt(
    index: number,
    { contract, input, job }: { contract: JobContract; input: unknown; job: JobOptions },
  ): Promise<PreparedJob> {
    try {
      const prepared = this.#prepare(contract, input, job)
      return prepared instanceof Promise ? await prepared : prepared
    } catch (error) {
      if (!isStintError(error, 'invalid-input')) throw error
      const issues = error.issues.map(({ path, message }) => ({
        path: path.replace(/^input/, `inputs[${index}]`),
        message,
      }))
      throw new StintError('invalid-input', `inputs[${index}]: ${error.message} No child was stored.`, {
        cause: error,
        issues,
      })
    }
  }

  async #keepSet(
    call: Call,
    kind: string,
    { jobs, state, id }: { jobs: readonly PreparedJob[]; state: 'open' | 'done'; id?: string },
  ): Promise<ChildSet> {
    const set: ChildSet = { flow: nextId(), size: jobs.length, ...(id === undefined ? {} : { id }) }
    const result = JSON.stringify(set)
    if (jobs.length === 0) {
      await (state === 'done' ? this.#journal.done(call, { result }) : this.#journal.note(call, { result }))
      return set
    }
    const { job: parent, ...header } = this.#journal.header(call)
    const spawned = await this.#store.spawn({
      ...header,
      id: parent,
      state,
      result,
      flow: set.flow,
      kind,
      jobs,
    })
    if (spawned.type === 'lost') throw this.#journal.lost()
    if (spawned.type === 'too-deep') throw tooDeep(this.#journal.held.job, kind)
    this.#journal.stored(call, set, state)
    return set
  }

  async #keepEnded(call: Call, ended: readonly Ended<unknown>[]): Promise<unknown> {
    let bytes = 0
    for (const one of ended)
      if (one.state === 'succeeded' && one.result !== undefined) bytes += JSON.stringify(one.result).length
    if (bytes > mostResultBytes) return this.#fail(call, resultsTooLarge(bytes, 'jobs'))
    return this.#steps.keep(call, ended)
  }

  /** The failure is remembered if the handler goes on. */
  #fail(call: Call, error: StintError): never {
    if (!isNotItsOwn(error)) this.#journal.failed(call, error)
    throw error
  }
}

function checkInputs(inputs: unknown): asserts inputs is Iterable<InputOf<JobContract>> {
  if (typeof inputs === 'object' && inputs !== null && Symbol.iterator in inputs) return
  throw invalidOption('inputs', 'an array or another iterable', inputs)
}

function idsOf(ids: string | readonly string[]): string[] {
  const list: readonly unknown[] = typeof ids === 'string' ? [ids] : ids
  if (!Array.isArray(list) || list.length === 0 || list.length > mostJobs)
    throw invalidOption('ids', `the id of a job, or a list of 1 to ${mostJobs.toLocaleString('en')} ids`, ids)
  return list.map((id, index) => {
    if (typeof id === 'string' && isUuid(id)) return id.toLowerCase()
    throw invalidOption(`ids[${index}]`, 'the id of a job', id)
  })
}

/** A record is input: another role may have written it. */
function setIn(stored: unknown): ChildSet | undefined {
  const [flow, size, id] = [peek(stored, 'flow'), peek(stored, 'size'), peek(stored, 'id')]
  if (typeof flow !== 'string' || !isUuid(flow) || !Number.isSafeInteger(size)) return undefined
  return { flow, size: Math.min(Number(size), mostChildren), ...(typeof id === 'string' ? { id } : {}) }
}

function seenIn({ result }: StepRecord): Seen {
  const failed = peek(result, 'failed')
  return typeof failed === 'object' && failed !== null ? { failed } : {}
}

function tooMany(): StintError {
  const most = mostChildren.toLocaleString('en')
  return new StintError(
    'invalid-input',
    `Expected at most ${most} inputs in one call, got more. No child was stored: divide them between several calls.`,
    {
      issues: [{ path: 'inputs', message: `more than ${most}` }],
    },
  )
}

function tooDeep({ id, kind }: { id: string; kind: string }, child: string): StintError {
  return new StintError(
    'spawn-too-deep',
    `Job ${id} of '${kind}' cannot have children of '${child}': there are ${mostLevels} levels of parents above them. Does the handler spawn its own kind without an end?`,
    { jobIds: [id] },
  )
}

function noSuchJob(kind: string, id: string | undefined, found: string | undefined): StintError {
  const what = found === undefined ? 'does not exist, or was removed by the retention' : `is a '${found}'`
  return new StintError(
    'job-not-found',
    `ctx.waitForJob() expects a job of '${kind}', and ${String(id)} ${what}.`,
    {
      jobIds: id === undefined ? [] : [id],
    },
  )
}
