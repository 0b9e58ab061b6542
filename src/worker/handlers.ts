import { checkContract } from '../contracts/check-contract.ts'
import type { JobContract, OutputOf, ParsedInputOf } from '../contracts/contract.ts'
import { StintError } from '../core/errors.ts'
import { integerOption, invalidOption, rejectUnknown } from '../core/options.ts'
import { peek } from '../core/failures/thrown.ts'
import type { ServedKinds } from './claim/served-kinds.ts'
import type { HandlerContext } from './attempt/handler-context.ts'
import { resolveIsolate } from './isolate/isolate-options.ts'
import type { HandleOptions, IsolateConfig } from './isolate/isolate-options.ts'

/** The return type of a function that returns nothing. */
export type Nothing = ReturnType<() => void>

/** Returns to succeed, throws to fail. */
export type Handler<Contract> = (
  input: ParsedInputOf<Contract>,
  ctx: HandlerContext,
) => Promise<OutputOf<Contract> | Nothing> | OutputOf<Contract> | Nothing

/** One of the jobs that a batch handler gets. */
export interface BatchJob<Contract> {
  readonly input: ParsedInputOf<Contract>
  readonly ctx: HandlerContext
}

/**
 * Returns one entry for each job, in their order: its result, or an Error where only that one failed. Returning
 * nothing says that all succeeded; throwing fails all.
 */
export type BatchHandler<Contract> = (
  jobs: readonly BatchJob<Contract>[],
) => Promise<readonly (OutputOf<Contract> | Error | undefined)[] | Nothing>

export interface BatchOptions {
  /** Jobs in one call, at most; 1 to 1,000. It takes the jobs that wait, and does not wait for more. @default 100 */
  size?: number | undefined
}

/** Runs around every attempt: `next()` calls the handler and returns its result. */
export type Middleware = (ctx: HandlerContext, next: () => Promise<unknown>) => Promise<unknown>

export type Registered =
  | {
      readonly type: 'single'
      readonly contract: JobContract
      readonly handler: Handler<JobContract>
      /** Undefined if it runs in the worker's process. */
      readonly isolate: IsolateConfig | undefined
    }
  | {
      readonly type: 'batch'
      readonly contract: JobContract
      readonly handler: BatchHandler<JobContract>
      readonly size: number
      readonly isolate?: undefined
    }

/** The handlers of this worker, by kind. */
export class Handlers {
  readonly middleware: Middleware[] = []
  readonly #byKind = new Map<string, Registered>()

  add(contract: JobContract, handler: unknown, { isolate, ...rest }: HandleOptions): void {
    rejectUnknown('handle()', rest, ['isolate'])
    this.#register({
      type: 'single',
      contract,
      handler: handlerOption(handler) as Handler<JobContract>,
      isolate: resolveIsolate(isolate),
    })
  }

  addBatch(contract: JobContract, handler: unknown, { size = 100, ...rest }: BatchOptions): void {
    refuseIsolate(rest)
    rejectUnknown('handleBatch()', rest, ['size'])
    const checked = integerOption('size', size, { min: 1, max: 1_000 })
    this.#register({
      type: 'batch',
      contract,
      handler: handlerOption(handler) as BatchHandler<JobContract>,
      size: checked,
    })
  }

  get(kind: string): Registered {
    const registered = this.#byKind.get(kind)
    if (registered !== undefined) return registered
    throw new StintError('unknown-handler', `This worker has no handler for '${kind}'.`)
  }

  get kinds(): string[] {
    return [...this.#byKind.keys()]
  }

  get contracts(): JobContract[] {
    return [...this.#byKind.values()].map(({ contract }) => contract)
  }

  /** The isolation of each kind that has one. */
  isolated(): IsolateConfig[] {
    return [...this.#byKind.values()].flatMap(({ isolate }) => isolate ?? [])
  }

  isolatedKinds(): string[] {
    return [...this.#byKind].filter(([, { isolate }]) => isolate !== undefined).map(([kind]) => kind)
  }

  /** Kinds whose contract puts its jobs into none of these queues. */
  outside(queues: readonly string[]): { kind: string; queue: string }[] {
    return this.contracts
      .filter(({ queue }) => !queues.includes(queue))
      .map(({ kind, queue }) => ({ kind, queue }))
  }

  /** For statements: JSON of kind → newest contract version. */
  versions(): string {
    return JSON.stringify(
      Object.fromEntries([...this.#byKind].map(([kind, { contract }]) => [kind, contract.version])),
    )
  }

  /** The largest batch that a queue's kinds take, and which of its kinds start in order. */
  servedIn(queue: string): ServedKinds {
    const served = [...this.#byKind.values()].filter(({ contract }) => contract.queue === queue)
    const ordered = served.filter(({ contract }) => contract.ordered !== undefined).length
    return {
      batchSize: Math.max(1, ...served.map((one) => (one.type === 'batch' ? one.size : 1))),
      ordering: ordered === 0 ? 'none' : ordered < served.length ? 'some' : 'all',
    }
  }

  #register(registered: Registered): void {
    checkContract(registered.contract)
    const { kind } = registered.contract
    if (this.#byKind.has(kind))
      throw new StintError('invalid-option', `Expected one handler for '${kind}', got a second one.`, {
        issues: [{ path: 'contract', message: `'${kind}' has a handler already` }],
      })
    this.#byKind.set(kind, registered)
  }
}

/** A child runs one job at a time, so that a kill or a crash concerns exactly one job. */
function refuseIsolate(rest: object): void {
  if (peek(rest, 'isolate') === undefined) return
  throw new StintError(
    'invalid-option',
    '`isolate` is not for batches: a child runs one job at a time, so that its end is the end of one job. Use handle().',
    { issues: [{ path: 'isolate', message: 'is not for batches' }] },
  )
}

function handlerOption(handler: unknown): unknown {
  if (typeof handler === 'function') return handler
  throw invalidOption('handler', 'a function', handler)
}
