import { randomUUID } from 'node:crypto'
import { isStintError, StintError } from '../../core/errors.ts'
import { classifyFailure } from '../../core/failures/failure.ts'
import { messageOf, peek } from '../../core/failures/thrown.ts'
import { nameOption } from '../../core/names.ts'
import { functionOption, oneOfOption, rejectUnknown } from '../../core/options.ts'
import { classify } from '../../db/classify.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { missingBreaker } from './breaker.ts'
import type { BreakerState } from './breaker.ts'
import { stateSql } from './state.sql.ts'
import { errorTitle, failProbe, OutcomeTally, passProbe, takeProbe } from './steps.ts'
import type { BreakerStep } from './steps.ts'

export interface BreakerRunOptions {
  /**
   * What to do while the database cannot be asked: `throw` the error `database-unavailable`, or `allow` the call, uncounted.
   * @default 'throw'
   */
  onTrouble?: 'throw' | 'allow' | undefined
}

/** A breaker used by hand: `stint.breaker('smtp')`, `ctx.breaker('smtp')`. */
export interface BreakerHandle {
  /**
   * Runs `work` and counts how it ended. While the breaker is open, `work` is not run: it throws `breaker-open`, with
   * `retryAfterMs`.
   */
  run<Result>(work: () => Result | Promise<Result>, options?: BreakerRunOptions): Promise<Result>
}

export interface RunnerConfig {
  /** Sends a statement; throws a StintError where the database cannot be reached. */
  send: <Result>(work: (db: Queryable) => Promise<Result>) => Promise<Result>
  /** Called with each step that this process made. */
  onStep: (step: BreakerStep) => void
}

/** Sends on a database directly; its errors become those of Stint. */
export function sendOn(db: Queryable): RunnerConfig['send'] {
  return async (work) => {
    try {
      return await work(db)
    } catch (error) {
      if (isStintError(error)) throw error
      const trouble = classify(error)
      const isAway = trouble === 'wait' || trouble === 'again' || trouble === 'unknown'
      throw new StintError(
        isAway ? 'database-unavailable' : 'database-rejected',
        `The database ${isAway ? 'did not answer' : 'refused'}: ${messageOf(error)}.`,
        { cause: error },
      )
    }
  }
}

/** A state that was read longer ago is read again before it decides. */
const freshMs = 500
const writeEveryMs = 1_000
/** How long callers are told to wait while another process probes. */
const whileProbedMs = 1_000

/** What is known of a breaker in this process. */
interface Known {
  state: BreakerState
  isForced: boolean
  /** When it may be probed. */
  dueAt: number
  readAt: number
  /** While this process probes: calls that it may still let through. */
  probe: { left: number; counts: readonly unknown[] } | undefined
  reading: Promise<void> | undefined
}

type Admitted = 'counted' | 'probe' | 'uncounted'

/** Runs calls behind breakers for one process: reads states when it must, and writes outcomes once a second. */
export class BreakerRunner {
  readonly #config: RunnerConfig
  readonly #id = randomUUID()
  readonly #tally = new OutcomeTally(this.#id)
  readonly #known = new Map<string, Known>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(config: RunnerConfig) {
    this.#config = config
  }

  breaker(given: string): BreakerHandle {
    const name = nameOption('name', given)
    return { run: (work, options) => this.#run(name, work, options) }
  }

  /** Writes the last outcomes. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#write()
    await this.#writing
  }

  async #run<Result>(
    name: string,
    work: () => Result | Promise<Result>,
    options: BreakerRunOptions = {},
  ): Promise<Result> {
    const { onTrouble = 'throw', ...rest } = options
    rejectUnknown('breaker().run()', rest, ['onTrouble'])
    functionOption('work', work)
    oneOfOption('onTrouble', onTrouble, ['throw', 'allow'])
    const admitted = await this.#admit(name, onTrouble)
    let result: Result
    try {
      result = await work()
    } catch (error) {
      await this.#failed(name, admitted, error)
      throw error
    }
    await this.#succeeded(name, admitted)
    return result
  }

  async #admit(name: string, onTrouble: 'throw' | 'allow'): Promise<Admitted> {
    let known: Known
    try {
      known = await this.#read(name)
      if (known.state === 'closed') return 'counted'
      if (known.probe === undefined && !known.isForced && performance.now() >= known.dueAt)
        await this.#takeProbe(name, known)
    } catch (error) {
      if (onTrouble === 'allow' && isStintError(error, 'database-unavailable')) return 'uncounted'
      throw error
    }
    if (known.probe !== undefined && known.probe.left > 0) {
      known.probe.left--
      return 'probe'
    }
    const isOpen = known.state === 'open'
    const waitMs = Math.max(isOpen ? 1 : whileProbedMs, Math.ceil(known.dueAt - performance.now()))
    throw new StintError(
      'breaker-open',
      `The breaker '${name}' is ${known.state}${known.isForced ? ', set by a person' : ''}: the call was not made. Try again in ${waitMs} ms.`,
      { retryAfterMs: waitMs },
    )
  }

  async #read(name: string): Promise<Known> {
    let known = this.#known.get(name)
    if (known !== undefined && performance.now() - known.readAt < freshMs) return known
    known ??= {
      state: 'closed',
      isForced: false,
      dueAt: 0,
      readAt: -Infinity,
      probe: undefined,
      reading: undefined,
    }
    this.#known.set(name, known)
    known.reading ??= this.#readNow(name, known).finally(() => (known.reading = undefined))
    await known.reading
    return known
  }

  async #readNow(name: string, known: Known): Promise<void> {
    const sentAt = performance.now()
    type Row = Pick<Known, 'state' | 'isForced'> & { inMs: number }
    const [row] = await this.#config.send((db) => run(db, stateSql, { name }, (found: Row) => found))
    if (row === undefined) {
      this.#known.delete(name)
      return missingBreaker(name)
    }
    Object.assign(known, { state: row.state, isForced: row.isForced, readAt: sentAt })
    known.dueAt = performance.now() + row.inMs
    // The lease of the probe is over, or a person has changed the state.
    if (row.state !== 'half-open' || row.inMs === 0) known.probe = undefined
  }

  async #takeProbe(name: string, known: Known): Promise<void> {
    const taken = await this.#config.send((db) => takeProbe(db, { name, prober: this.#id }))
    if (taken === undefined) {
      known.readAt = -Infinity
      await this.#read(name)
      return
    }
    known.state = 'half-open'
    known.probe = { left: taken.left, counts: taken.counts }
    if (taken.was === 'open') this.#config.onStep({ name, was: 'open', state: 'half-open', cause: null })
  }

  async #succeeded(name: string, admitted: Admitted): Promise<void> {
    if (admitted === 'counted') this.#count(name, null)
    if (admitted === 'probe')
      await this.#step(name, (db) => passProbe(db, { name, prober: this.#id, succeeded: 1 }))
  }

  async #failed(name: string, admitted: Admitted, error: unknown): Promise<void> {
    // Another breaker is open: the downstream of this one was not asked.
    const failureClass = isStintError(error, 'breaker-open') ? undefined : classifyFailure(error)
    const text = errorTitle(nameOf(error), messageOf(error))
    if (admitted === 'counted' && failureClass !== undefined)
      this.#count(name, { class: failureClass, error: text, fingerprint: null })
    if (admitted !== 'probe') return
    const probe = this.#known.get(name)?.probe
    // A failure that does not count says nothing about the downstream: another call may probe it.
    if (failureClass === undefined || probe?.counts.includes(failureClass) === false) {
      if (probe !== undefined) probe.left++
    } else await this.#step(name, (db) => failProbe(db, { name, prober: this.#id, cause: { error: text } }))
  }

  /** The call has ended: trouble with the database must not change its result. */
  async #step(name: string, work: (db: Queryable) => Promise<BreakerStep | undefined>): Promise<void> {
    const step = await this.#config.send(work).catch(() => undefined)
    if (step !== undefined && step.state !== 'half-open') this.#stepped(step)
    else if (step === undefined) this.#forget(name)
  }

  #stepped(step: BreakerStep): void {
    this.#forget(step.name)
    this.#tally.drop(step.name)
    this.#config.onStep(step)
  }

  #forget(name: string): void {
    const known = this.#known.get(name)
    if (known !== undefined) Object.assign(known, { readAt: -Infinity, probe: undefined })
  }

  #count(name: string, outcome: Parameters<OutcomeTally['add']>[1]): void {
    this.#tally.add(name, outcome)
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#write()
    }, writeEveryMs).unref()
  }

  #write(): void {
    this.#writing = this.#writing
      .then(() => this.#config.send((db) => this.#tally.write(db)))
      .then((tripped) => {
        for (const { step } of tripped) this.#stepped(step)
      })
      // Outcomes that cannot be written decide nothing.
      .catch(() => undefined)
  }
}

function nameOf(thrown: unknown): string {
  const name = peek(thrown, 'name')
  return typeof name === 'string' ? name : 'Error'
}
