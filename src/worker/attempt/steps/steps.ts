import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { readPayload, signalName } from '../../../contracts/signal.ts'
import type { SignalContract } from '../../../contracts/signal.ts'
import type { Duration } from '../../../core/duration.ts'
import { StintError } from '../../../core/errors.ts'
import { retryDelayMs } from '../../../core/failures/backoff.ts'
import { verdictOf } from '../../../core/failures/verdict.ts'
import {
  durationOption,
  functionOption,
  integerOption,
  invalidOption,
  rejectUnknown,
} from '../../../core/options.ts'
import type { PgTransaction } from '../../../db/foreign-tx.ts'
import type { ApprovalsConfig } from '../../../node/approval/options.ts'
import { readRecords, record } from '../../../flows/steps/steps.ts'
import type { StepRecord } from '../../../flows/steps/steps.ts'
import { approvalName } from '../../../flows/waiting/approvals.ts'
import type { TakenSignal } from '../../../flows/waiting/waiting.ts'
import { putInput, readBlob } from '../../../jobs/blobs/input-blob.ts'
import { nextId } from '../../../jobs/new/ids.ts'
import type { BlobConfig } from '../../../jobs/new/new-job.ts'
import { isLeaseLost, isOwnTrouble } from '../fenced-tx.ts'
import type { FencedTransactions } from '../fenced-tx.ts'
import { ApprovalCall } from './approval.ts'
import type { ApprovalOptions } from './approval.ts'
import type { Call } from './call.ts'
import type { Journal } from './journal.ts'
import { probed, unlessDropped } from './probe.ts'
import { resolveStep, stepName, untilOf } from './step-options.ts'
import type {
  EachOptions,
  Pages,
  ReceivedSignal,
  StepContext,
  StepOptions,
  TimedOut,
  WaitOptions,
} from './step-options.ts'
import { maxStepBytes, stepText, storedFailure } from './stored-value.ts'
import type { Stored } from './stored-value.ts'

/** Set while a step's function runs: a step inside a step has no place of its own in the journal. */
const insideStep = new AsyncLocalStorage<string>()

/** A longer pause between two tries of a step leaves the slot. */
const longestPauseMs = 10_000

export interface StepsConfig {
  journal: Journal
  transactions: Pick<FencedTransactions, 'recorded'>
  blobs: BlobConfig | undefined
  approvals: ApprovalsConfig
  signal: () => AbortSignal
  /** Throws if the attempt is completed. */
  mustBeOpen: () => void
  /** Jobs of a batch share a call of their handler, which cannot stop for one of them. */
  isBatch: boolean
}

/** The calls of a handler's context that are recorded. `journal.ts` has the essay. */
export class Steps {
  readonly #config: StepsConfig
  readonly #journal: Journal

  constructor(config: StepsConfig) {
    this.#config = config
    this.#journal = config.journal
  }

  async step<Value>(
    name: string,
    run: (step: StepContext) => Value | Promise<Value>,
    options: StepOptions = {},
  ): Promise<Stored<Value>> {
    functionOption('run', run)
    const { attempts, backoff, timeoutMs } = resolveStep(options)
    return this.call(stepName(name), 'step', async (call, before) => {
      if (before?.state === 'done' || before?.state === 'failed') return this.again(before)
      if (before !== undefined && !before.isOver)
        return this.#journal.stop(call, {
          type: 'wait',
          isNew: false,
          until: { untilMs: this.#journal.leftMs(before) },
        })
      if (before === undefined) await this.#journal.mayBegin(call)
      for (let tries = (before?.tries ?? 0) + 1; ; tries++) {
        try {
          const value = await this.#try(call, probed(this.#journal, run, call), { tries, timeoutMs })
          return await this.keep(call, value, tries)
        } catch (thrown) {
          if (isNotItsOwn(thrown)) throw thrown
          if (tries >= attempts || verdictOf(thrown, Date.now()) !== undefined || isUnstorable(thrown)) {
            this.#journal.failed(call, thrown)
            throw thrown
          }
          const delayMs = retryDelayMs(backoff, tries, thrown, Math.random)
          if (delayMs > longestPauseMs)
            return this.#journal.stop(call, {
              type: 'wait',
              isNew: true,
              until: { untilMs: delayMs },
              said: { tries },
            })
          await pause(delayMs, undefined, { signal: this.#config.signal() })
        }
      }
    }) as Promise<Stored<Value>>
  }

  /** Its writes commit with its record: at most once, however often the handler runs. */
  async stepTx<Value>(name: string, work: (tx: PgTransaction) => Promise<Value>): Promise<Stored<Value>> {
    functionOption('work', work)
    return this.call(stepName(name), 'tx', async (call, before) => {
      if (before !== undefined) return this.again(before)
      await this.#journal.mayBegin(call)
      const { held } = this.#journal
      try {
        const value = await this.#config.transactions.recorded(held, {
          find: async (tx) => (await readRecords(tx, [held.job.id])).get(held.job.id)?.find(isOf(call)),
          work: (tx) => insideStep.run(name, () => probed(this.#journal, work, call)(tx)),
          keep: async (tx, given) => {
            const result = stepText(given, name, maxStepBytes)
            const one = { ...this.#journal.header(call), state: 'done', tries: 1, result } as const
            await record(tx, [one], { isAlone: true })
            return result === undefined ? undefined : (JSON.parse(result) as unknown)
          },
        })
        this.#journal.stored(call, value)
        return value
      } catch (thrown) {
        if (!isNotItsOwn(thrown)) this.#journal.failed(call, thrown)
        throw thrown
      }
    }) as Promise<Stored<Value>>
  }

  /** Works through items in batches, and remembers after each how far it is. */
  async each<Item>(
    name: string,
    items: readonly Item[] | Pages<Item>,
    { batch = 100, ...rest }: EachOptions,
    run: (batch: Item[], step: StepContext) => Promise<void> | void,
  ): Promise<void> {
    rejectUnknown('ctx.each()', rest, ['batch'])
    integerOption('batch', batch, { min: 1, max: 10_000 })
    functionOption('run', run)
    const pages = pagesOf(items, batch)
    await this.call(stepName(name), 'each', async (call, before) => {
      if (before?.state === 'done' || before?.state === 'failed') return this.again(before)
      let { cursor, done } = placeOf(before?.result)
      do {
        await this.#journal.mayBegin(call)
        const page = await pages(cursor)
        const runPage = probed(this.#journal, run, { ...call, page: cursor ?? '' })
        try {
          if (page.items.length > 0)
            await this.#try(call, (step) => runPage([...page.items], step), {
              tries: 1,
              timeoutMs: undefined,
            })
        } catch (thrown) {
          if (!isNotItsOwn(thrown)) this.#journal.failed(call, thrown)
          throw thrown
        }
        done += page.items.length
        cursor = page.next
        if (cursor !== null) await this.#journal.note(call, { result: JSON.stringify({ cursor, done }) })
      } while (cursor !== null)
      await this.#journal.done(call, { result: JSON.stringify({ done }) })
      return undefined
    })
  }

  /** Waits without a slot. */
  async sleep(
    span: Duration | Date,
    { name = '', ...rest }: { name?: string | undefined } = {},
  ): Promise<void> {
    rejectUnknown('ctx.sleep()', rest, ['name'])
    const until = untilOf(span)
    await this.call(`sleep:${name === '' ? '' : stepName(name)}`, 'sleep', async (call, before) => {
      if (before?.state === 'done') return undefined
      if (before?.isOver === true) return this.#journal.over(call)
      if (before === undefined) await this.#journal.mayBegin(call)
      const left = before === undefined ? until : { untilMs: this.#journal.leftMs(before) }
      return this.#journal.stop(call, { type: 'wait', isNew: before === undefined, until: left })
    })
  }

  async waitForSignal<Payload>(
    signal: SignalContract<Payload> | string,
    { timeout, match, ...rest }: WaitOptions = {},
  ): Promise<ReceivedSignal<Payload> | TimedOut> {
    rejectUnknown('ctx.waitForSignal()', rest, ['timeout', 'match'])
    const name = signalName(signal)
    const untilMs = timeout === undefined ? undefined : durationOption('timeout', timeout, { minMs: 1 })
    if (match !== undefined && !isObject(match)) throw invalidOption('match', 'an object', match)
    return this.call(`signal:${name}`, 'signal', async (call, before) => {
      if (before?.state === 'done') return receivedOf(signal, before.result as TakenSignal)
      if (before === undefined) await this.#journal.mayBegin(call)
      const found = await this.#journal.take(call, { name, match })
      if (found !== undefined) return receivedOf(signal, found)
      const left = before === undefined ? untilMs : this.#journal.leftMs(before)
      return this.#journal.stop(call, {
        type: 'wait',
        isNew: before === undefined,
        until: { untilMs: left },
        signal: { name, match },
      })
    })
  }

  /** Links that send a signal to this job. */
  async approval<Given, Answers extends Readonly<Record<string, Given>>>(
    signal: SignalContract<unknown, Given> | string,
    answers: Answers,
    options: ApprovalOptions,
  ): Promise<{ [Name in keyof Answers]: string }> {
    const { approvals: config } = this.#config
    const asking = new ApprovalCall(signal, answers, { options, config })
    return this.call(approvalName(asking.signal), 'approval', async (call, before) => {
      const { id } = this.#journal.held.job
      if (before?.state === 'done') return asking.links(id, before.result)
      await this.#journal.mayBegin(call)
      const asked = await asking.asked(await this.#journal.expiry(asking.expiresMs))
      await this.#journal.done(call, { result: JSON.stringify(asked) })
      return asking.links(id, asked)
    }) as Promise<{ [Name in keyof Answers]: string }>
  }

  /** Which of two versions of the code a job follows: it stays with the one that it met first. */
  async version(name: string, oldest: number, newest: number): Promise<number> {
    integerOption('oldest', oldest, { min: 0 })
    integerOption('newest', newest, { min: oldest })
    return this.call(`version:${stepName(name)}`, 'version', async (call, before) => {
      if (before !== undefined) return before.result
      // One turn later, as for a step: only a job that has work recorded behind this place is past it.
      await new Promise(setImmediate)
      const chosen = this.#journal.unasked() === undefined ? newest : oldest
      await this.#journal.done(call, { result: String(chosen), beside: true })
      return chosen
    }) as Promise<number>
  }

  /** A recorded call. Not async: its number is taken before anything is awaited. */
  call<Value>(
    name: string,
    type: Call['type'],
    work: (call: Call, before: StepRecord | undefined) => Promise<Value>,
  ): Promise<Value> {
    this.#config.mustBeOpen()
    if (this.#config.isBatch) throw notInBatches(name)
    const outer = insideStep.getStore()
    if (outer !== undefined)
      throw new StintError(
        'invalid-option',
        `The step '${outer}' calls '${name}': a step cannot contain another recorded call.`,
        {
          issues: [{ path: 'name', message: `is inside the step '${outer}'` }],
        },
      )
    const call = this.#journal.begin(name, type)
    const done = this.#journal
      .find(call)
      .then((before) => work(call, before))
      .finally(() => this.#journal.finish(call))
    const { probe } = this.#journal
    return probe === undefined ? done : unlessDropped(probe, done)
  }

  /** What the call returned or threw the first time. */
  async again({ state, result, blob, error }: StepRecord): Promise<unknown> {
    if (state === 'failed' && error !== null) throw storedFailure(error)
    if (blob === null) return result
    return readBlob(this.#config.blobs?.store, { jobId: this.#journal.held.job.id, key: blob })
  }

  async #try<Value>(
    call: Call,
    run: (step: StepContext) => Value | Promise<Value>,
    { tries, timeoutMs }: { tries: number; timeoutMs: number | undefined },
  ): Promise<Value> {
    const { name, n } = call
    const own = new AbortController()
    const signal = AbortSignal.any([this.#config.signal(), own.signal])
    const idempotencyKey = `${this.#journal.held.job.id}/${name}/${n}`
    const running = insideStep.run(name, async () => run({ name, attempt: tries, signal, idempotencyKey }))
    if (timeoutMs === undefined) return running
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const error = new StintError(
          'attempt-timeout',
          `The step '${name}' ran past its timeout of ${timeoutMs} ms.`,
        )
        own.abort(error)
        reject(error)
      }, timeoutMs)
    })
    running.catch(() => undefined)
    return Promise.race([running, late]).finally(() => {
      clearTimeout(timer)
    })
  }

  /** Stores the result of a call, and returns it as another attempt will see it. */
  async keep(call: Call, value: unknown, tries = 1): Promise<unknown> {
    const { blobs } = this.#config
    const text = stepText(value, call.name, blobs?.maxBytes ?? maxStepBytes)
    if (
      text === undefined ||
      text.length <= maxStepBytes / 3 ||
      Buffer.byteLength(text) <= maxStepBytes ||
      blobs === undefined
    ) {
      await this.#journal.done(call, { result: text, tries })
    } else {
      const { key } = await putInput(blobs.store, nextId(), text)
      await this.#journal.done(call, { result: undefined, blob: key, tries })
    }
    // A Date has become text.
    return text === undefined ? undefined : JSON.parse(text)
  }
}

async function receivedOf<Payload>(
  signal: SignalContract<Payload> | string,
  taken: TakenSignal,
): Promise<ReceivedSignal<Payload> | TimedOut> {
  if ('timedOut' in taken) return { timedOut: true }
  const { payload, id, by, sentAt } = taken
  return { timedOut: false, payload: await readPayload<Payload>(signal, payload), id, by, sentAt }
}

function notInBatches(name: string): StintError {
  return new StintError(
    'invalid-option',
    `A handler of batches has no steps and cannot wait ('${name}'): its jobs share one call. Use handle() for this kind.`,
  )
}

/** Pages of an array; a page is named by the index of its first item. */
function pagesOf<Item>(items: readonly Item[] | Pages<Item>, batch: number): Pages<Item> {
  if (typeof items === 'function') return items
  if (!Array.isArray(items)) throw invalidOption('items', 'an array, or a function that returns pages', items)
  return (cursor) => {
    const start = cursor === null ? 0 : Number(cursor)
    const end = start + batch
    return Promise.resolve({
      items: items.slice(start, end) as Item[],
      next: end < items.length ? String(end) : null,
    })
  }
}

function placeOf(stored: unknown): { cursor: string | null; done: number } {
  const { cursor, done } = (stored ?? {}) as { cursor?: unknown; done?: unknown }
  return { cursor: typeof cursor === 'string' ? cursor : null, done: typeof done === 'number' ? done : 0 }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isOf(call: Call) {
  return ({ name, n, state }: StepRecord): boolean => name === call.name && n === call.n && state === 'done'
}

/** The lease is gone, or the database did not answer: no failure of the step. */
export function isNotItsOwn(thrown: unknown): boolean {
  return isLeaseLost(thrown) || isOwnTrouble(thrown)
}

/** Another try would return the same. */
function isUnstorable(thrown: unknown): boolean {
  return (
    thrown instanceof StintError &&
    ['invalid-step-result', 'step-too-large', 'too-many-steps'].includes(thrown.code)
  )
}
