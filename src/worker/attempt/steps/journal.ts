import { setImmediate as nextTurn } from 'node:timers/promises'
import { StintError } from '../../../core/errors.ts'
import { describeFailure } from '../../../core/failures/stored-error.ts'
import { mostRecords } from '../../../flows/steps/steps.ts'
import type { NewRecord, StepRecord, StepState, StepType } from '../../../flows/steps/steps.ts'
import type { AwaitedSignal, TakenSignal } from '../../../flows/waiting/waiting.ts'
import { leaseLost } from '../fenced-tx.ts'
import type { HeldJob } from '../held-job.ts'
import type { Ending } from '../outcome.ts'
import { keyOf } from './call.ts'
import type { Call, Stop } from './call.ts'
import type { JournalServices } from './journal-services.ts'
import { Order } from './order.ts'
import type { Place } from './order.ts'
import { parkedEnding } from './parked.ts'
import type { StepProbe } from './probe.ts'
import { tooLarge, tooMany } from './record-limits.ts'
import { untilOf, waitingOf } from './until.ts'
import { stepSummary } from './summary.ts'

/**
 * What the calls of a handler's context have returned, over all attempts of a job.
 *
 * A handler that is called again runs from its start. Each of its calls (`ctx.step`, `ctx.sleep` …) is known by its name and by
 * how many calls of that name came before it in the attempt; the number is taken when the call is made. A call that has a
 * record returns what the record says, and does nothing. Order is not identity, so `Promise.all` and `Promise.race` are free.
 *
 * Order is looked at where it means something. A record says whether it began *beside* another call. A call without a record
 * may begin only when every record that began alone has been asked for: otherwise the code has changed in front of work that
 * is done, and the job is parked: it waits, nothing runs, and a later deployment may fit again. It is looked at one turn of
 * the event loop later, because the calls of one `Promise.all` are made in one turn.
 *
 * A call that must wait *stops*: its promise never settles in this attempt. So there is no exception that a handler could
 * swallow, and no `finally` that runs too early. When all calls under way have stopped and a turn has passed, the attempt ends
 * without its handler. Code that takes time between the calls is not seen: it belongs into a step.
 *
 * A result counts once its record is stored. Results are numbered, and given to the handler in this order in every attempt
 * (order.ts), so that a race has one winner. A failure is stored only when the handler goes on past it, before its next call
 * begins: an attempt that fails by it runs the step again. That a worker stops is no failure of the step.
 */
export class Journal {
  readonly held: HeldJob
  readonly #services: JournalServices
  readonly #counts = new Map<string, number>()
  readonly #records = new Map<string, StepRecord>()
  readonly #asked = new Set<string>()
  /** Calls under way. */
  readonly #calls = new Set<Call>()
  /** Calls whose failure the handler has got. */
  #failed: Call[] = []
  /** Failures on their way to the database: no call begins before they are stored. */
  #storing: Promise<void> = Promise.resolve()
  #order = new Order()
  /** Of the recorded results. */
  readonly #places = new Map<string, Place>()
  #loading: Promise<void> | undefined
  #readAt = 0
  #seq = 0
  #bytes = 0
  #written = 0
  #hasBegun = false
  #state: 'open' | 'ending' | 'over' = 'open'
  #isLooking = false
  #end: (ending: Ending) => void = () => undefined
  /** Resolves if the attempt ends without its handler. */
  readonly ended: Promise<Ending>

  constructor(held: HeldJob, services: JournalServices) {
    this.held = held
    this.#services = services
    this.ended = new Promise((resolve) => (this.#end = resolve))
  }

  get probe(): StepProbe | undefined {
    return this.#services.probe
  }

  /** Whether this attempt has stored a record: then its failure burns no attempt. */
  get hasProgress(): boolean {
    return this.#written > 0
  }

  /** Whether earlier calls are being repeated: nothing new has happened yet. */
  get isReplaying(): boolean {
    return this.#records.size > 0 && !this.#hasBegun
  }

  /** The records for people, as JSON text; undefined where there are none. */
  summary(): string | undefined {
    return stepSummary(this.#records.values())
  }

  /** The handler has ended: calls that are still under way are ignored. Returns the records for people. */
  close(): string | undefined {
    this.#state = 'over'
    return this.summary()
  }

  /** The handler is called again within the attempt. */
  restart(): this {
    this.#counts.clear()
    this.#asked.clear()
    this.#calls.clear()
    this.#failed = []
    this.#storing = Promise.resolve()
    this.#expectRecorded()
    this.#state = 'open'
    return this
  }

  /** A call begins: it gets its number now, before anything is awaited. */
  begin(name: string, type: StepType): Call {
    if (this.#state !== 'open') throw this.#isOver()
    const n = this.#counts.get(name) ?? 0
    this.#counts.set(name, n + 1)
    const call: Call = { name, n, type, seq: 0, beside: this.#calls.size > 0, beganAt: performance.now() }
    this.#calls.add(call)
    return call
  }

  /** A call has a result, or has failed. Resolves when it may be given to the handler. */
  async finish(call: Call): Promise<void> {
    await call.place?.turn()
    // Not before: the handler cannot have gone past a failure that it has not got.
    if (call.failure !== undefined) this.#failed.push(call)
    this.#calls.delete(call)
    this.#look()
  }

  /** The record of a call. Writes down the failures that the handler has gone past. */
  async find(call: Call): Promise<StepRecord | undefined> {
    const stored = this.#storeFailures()
    await (this.#loading ??= this.#load())
    await stored
    if (this.probe !== undefined) await this.#unlessDropped()
    const key = keyOf(call)
    this.#asked.add(key)
    const found = this.#records.get(key)
    if (found === undefined) return undefined
    if (found.type !== call.type)
      return this.park(call, `its call '${call.name}' is a ${call.type}, and was a ${found.type}`)
    call.place = this.#places.get(key)
    call.place?.ask()
    return found
  }

  #storeFailures(): Promise<void> {
    const failed = this.#failed
    this.#failed = []
    if (failed.length > 0)
      this.#storing = this.#storing.then(async () => {
        for (const call of failed) await this.#write(call, { state: 'failed', ...call.failure })
      })
    return this.#storing
  }

  /** Waits until a call without a record may begin; never returns if it must not. */
  async mayBegin(call: Call): Promise<void> {
    if (this.#records.size > 0 && this.unasked() !== undefined) {
      await nextTurn()
      const missing = this.unasked()
      if (missing !== undefined)
        await this.park(call, `it asks for '${call.name}' where '${missing.name}' was recorded`)
    }
    if (this.probe !== undefined) await this.#unlessDropped()
    if (this.#services.isDraining()) await this.stop(call, { type: 'release' })
    if (this.#records.size >= mostRecords) throw tooMany(this.held)
    this.#hasBegun = true
  }

  /** A record that began alone and has not been asked for. */
  unasked(): StepRecord | undefined {
    for (const [key, one] of this.#records) if (!one.beside && !this.#asked.has(key)) return one
    return undefined
  }

  /** Stores the result of a call. */
  async done(
    call: Call,
    { result, ...more }: { result: string | undefined; blob?: string; tries?: number; beside?: boolean },
  ): Promise<void> {
    await this.#write(call, { state: 'done', result, ...more })
  }

  /** Stores how far a call is that goes on. */
  async note(call: Call, { result, tries }: { result?: string; tries?: number }): Promise<void> {
    await this.#write(call, {
      state: 'open',
      ...(result === undefined ? {} : { result }),
      ...(tries === undefined ? {} : { tries }),
    })
  }

  /** A call was stored elsewhere: in a transaction of its own, or by the statement that took a signal or made children. */
  stored(call: Call, result: unknown, state: 'open' | 'done' = 'done'): void {
    this.#know(call, { state, result, tries: 1 })
    if (state === 'open') call.place?.leave()
    this.#progressed(call, state)
  }

  /** A time is over. With nothing beside it there is no order to keep, and nothing to store. */
  async over(call: Call): Promise<void> {
    if (this.#calls.size > 1) await this.done(call, { result: undefined })
  }

  /** A call has failed; it is written down if the handler goes on. */
  failed(call: Call, thrown: unknown): void {
    const { job, abortedFor } = this.held
    // No further step begins in this worker, and the next one runs this step again.
    if (abortedFor === 'shutdown' || abortedFor === 'lease') return
    const { seq } = this.header(call)
    call.failure = { seq, error: describeFailure(thrown, { kind: job.kind, failureClass: 'unknown' }) }
  }

  /** What a record to write has in common with all others. The call takes its place in the order of results. */
  header(
    call: Call,
  ): Pick<NewRecord, 'job' | 'lease' | 'epoch' | 'name' | 'n' | 'seq' | 'type' | 'beside' | 'ms'> {
    call.place?.leave()
    call.place = this.#order.add()
    const seq = (call.seq = this.#seq++)
    const { job } = this.held
    const { name, n, type, beside, beganAt } = call
    const ms = performance.now() - beganAt
    return { job: job.id, lease: job.leaseId, epoch: job.epoch, name, n, seq, type, beside, ms }
  }

  async take(call: Call, signal: AwaitedSignal): Promise<TakenSignal | undefined> {
    if (this.probe !== undefined) await this.#unlessDropped()
    const { job, ...header } = this.header(call)
    const taken = await this.#services.records.take({
      ...header,
      id: job,
      signal: signal.name,
      match: signal.match,
    })
    if (taken === 'lost') throw this.lost()
    if (taken === 'none') return undefined
    this.stored(call, taken)
    return taken
  }

  /** The time of the database in so many milliseconds. */
  expiry(ms: number): Promise<number> {
    return this.#services.records.expiry(ms)
  }

  /** How long the wait of an open record still lasts. */
  leftMs({ untilMs }: StepRecord): number | undefined {
    return untilMs === null ? undefined : Math.max(0, untilMs - (performance.now() - this.#readAt))
  }

  /** The call waits, and its promise never settles. */
  stop(call: Call, stop: Stop): Promise<never> {
    call.place?.leave()
    call.stop = stop
    call.stoppedAt = performance.now()
    this.#look()
    return new Promise<never>(() => undefined)
  }

  park(call: Call, reason: string): Promise<never> {
    return this.stop(call, { type: 'park', reason })
  }

  async #load(): Promise<void> {
    // Nothing can be recorded before the first claim.
    if (this.held.job.epoch <= 1) return
    const records = await this.#services.records.read(this.held.job.id)
    this.#readAt = performance.now()
    for (const one of records) {
      this.#records.set(keyOf(one), one)
      this.#seq = Math.max(this.#seq, one.seq + 1)
    }
    this.#expectRecorded()
  }

  /** Which version was chosen is no result that a handler waits for. */
  #expectRecorded(): void {
    this.#order = new Order()
    this.#places.clear()
    for (const one of [...this.#records.values()].sort((a, b) => a.seq - b.seq))
      if (one.state !== 'open' && one.type !== 'version') this.#places.set(keyOf(one), this.#order.expect())
  }

  async #write(call: Call, said: Pick<NewRecord, 'state'> & Partial<NewRecord>): Promise<void> {
    if (this.probe !== undefined) await this.#unlessDropped()
    this.#bytes += said.result?.length ?? 0
    if (this.#bytes > maxBytes) throw tooLarge(this.held, this.#bytes)
    const one: NewRecord = { ...this.header(call), tries: 1, ...said }
    try {
      if (!(await this.#services.records.write(one))) throw this.lost()
    } finally {
      // The handler gets nothing now: the call goes on or waits, or its failure was given before.
      if (one.state !== 'done') call.place?.leave()
    }
    this.#know(call, { ...one, result: one.result === undefined ? undefined : JSON.parse(one.result) })
    this.#progressed(call, one.state)
  }

  /** Once a test has taken the memory of the worker, nothing goes on and nothing is written. */
  #unlessDropped(): Promise<void> | undefined {
    return this.probe?.isDropped === true ? new Promise(() => undefined) : undefined
  }

  #know(
    call: Call,
    {
      seq = call.seq,
      beside = call.beside,
      ...said
    }: Pick<StepRecord, 'state' | 'result' | 'tries'> & Partial<Pick<NewRecord, 'seq' | 'beside' | 'error'>>,
  ): void {
    const { name, n, type, beganAt } = call
    const { state, result, tries, error } = said
    const endedAt = Date.now()
    // A wait began in an earlier attempt.
    const known = this.#records.get(keyOf(call))
    const startedAt = known?.startedAt ?? endedAt - (performance.now() - beganAt)
    const one: StepRecord = {
      ...{ name, n, seq, type, beside, state, result, tries, blob: null, error: error ?? null },
      ...{ isOver: false, untilMs: null, startedAt, endedAt },
    }
    this.#records.set(keyOf(call), one)
  }

  #progressed({ name, n, type }: Call, state: StepState): void {
    this.#written++
    this.#services.progressed(this.held)
    const { id: jobId, kind } = this.held.job
    this.probe?.recorded({ jobId, kind, name, n, type, state })
  }

  /** If all calls under way have stopped, and the handler makes no further one within a turn, the attempt ends. */
  #look(): void {
    if (this.#isLooking || !this.#haveAllStopped()) return
    this.#isLooking = true
    setImmediate(() => {
      this.#isLooking = false
      if (this.#state === 'open' && this.#haveAllStopped()) void this.#endAttempt()
    })
  }

  #haveAllStopped(): boolean {
    if (this.#calls.size === 0) return false
    for (const { stop } of this.#calls) if (stop === undefined) return false
    return true
  }

  async #endAttempt(): Promise<void> {
    this.#state = 'ending'
    try {
      const ending = await this.#ending()
      if (this.probe?.isDropped !== true) this.#end(ending)
    } catch (error) {
      const reason = error instanceof StintError ? error.message : 'its waits could not be stored'
      this.#end({ type: 'released', reason })
    } finally {
      this.#state = 'over'
    }
  }

  async #ending(): Promise<Ending> {
    const calls = [...this.#calls]
    const stops = calls.flatMap(({ stop }) => stop ?? [])
    const parked = calls.find(({ stop }) => stop?.type === 'park')
    if (parked?.stop?.type === 'park') return this.#parkedAs(parked, parked.stop.reason)
    if (stops.some(({ type }) => type === 'release'))
      return { type: 'released', reason: 'the worker drains: no further step begins' }
    for (const call of calls)
      if (call.stop?.type === 'wait' && call.stop.isNew)
        await this.#write(call, { state: 'open', ...untilOf(call), ...call.stop.said })
    return waitingOf(calls)
  }

  async #parkedAs(call: Call, reason: string): Promise<Ending> {
    const before = await this.#services.records.parkedTries(this.held.job.id)
    const recorded = this.#records.get(keyOf(call)) ?? this.unasked()
    return parkedEnding(call, { reason, before, recorded })
  }

  /** The lease is gone: the attempt ends. */
  lost(): StintError {
    const error = leaseLost(this.held)
    this.held.abort('lease', error)
    return error
  }

  #isOver(): StintError {
    const { id, kind } = this.held.job
    return new StintError(
      'job-completed',
      `The attempt of job ${id} of '${kind}' is over: it ended or waits. What its handler still does is ignored.`,
      { jobIds: [id] },
    )
  }
}

/** All results of a job together. */
const maxBytes = 32 * 1024 * 1024
