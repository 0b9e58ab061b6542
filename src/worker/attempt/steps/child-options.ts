import type { InputOf, JobContract, OutputOf } from '../../../contracts/contract.ts'
import type { Duration } from '../../../core/duration.ts'
import { invalidOption, rejectUnknown } from '../../../core/options.ts'
import type { JobOptions } from '../../../jobs/new/enqueue-options.ts'
import { stepName } from './step-options.ts'
import type { Stored } from './stored-value.ts'

/** What a parent does about a child that is dead or was cancelled. */
export type OnDead = 'fail' | 'cancel' | 'collect' | 'ignore'

/**
 * Options of children, as of any job. A child is always a job of its own: it has no idempotency key, and a rule of its contract
 * that makes jobs unique does not hold for it.
 */
export interface SpawnOptions extends Omit<JobOptions, 'unique' | 'idempotencyKey' | 'idempotencyFor'> {
  /** Tells the call apart from others, instead of the kind of the child. */
  name?: string | undefined
}

export interface JoinOptions<Policy extends OnDead = OnDead> {
  /**
   * `fail`: throws `child-dead` or `child-cancelled` at the first failure, and the other children go on. `cancel`: does that, and
   * cancels the others. `collect`: returns after all have ended, and how each ended is a value. `ignore`: leaves failures out.
   *
   * @default 'fail'
   */
  onDead?: Policy | undefined
  /** Tells the call apart from others. */
  name?: string | undefined
}

export interface AllOptions<Policy extends OnDead = OnDead> extends SpawnOptions, JoinOptions<Policy> {}

export interface WaitForJobOptions {
  /** Wait no longer than this; without it, for ten years. */
  timeout?: Duration | undefined
}

/** How a job ended. */
export type Ended<Output> =
  | { readonly state: 'succeeded'; readonly id: string; readonly result: Output }
  | { readonly state: 'dead'; readonly id: string; readonly error: EndedError }
  | { readonly state: 'cancelled'; readonly id: string }

export interface EndedError {
  readonly name: string
  readonly message: string
  readonly code?: string
}

declare const output: unique symbol

/** A job that `ctx.spawn` made. Pass it to `ctx.all` to wait for it. */
export interface Child<Output> {
  readonly id: string
  readonly kind: string
  /** Only a type: the result is what `ctx.all` returns. */
  readonly [output]?: Output
}

/** The jobs that one call of `ctx.spawnAll` made. */
export interface Children<Output> {
  readonly kind: string
  readonly size: number
  /**
   * Waits until all have ended, then reads how they did, in the order of their inputs: page by page, so a set of any size fits
   * into memory.
   */
  results(): AsyncIterable<Ended<Output>>
}

export type ChildOf<Contract> = Child<Stored<OutputOf<Contract>>>
export type ChildrenOf<Contract> = Children<Stored<OutputOf<Contract>>>

/** What `ctx.all` returns for children of one contract. */
export type ResultsOf<Contract, Policy extends OnDead> = Policy extends 'collect'
  ? Ended<Stored<OutputOf<Contract>>>[]
  : Stored<OutputOf<Contract>>[]

type OutputOfChild<One> = One extends Child<infer Output> ? Output : never

/** What `ctx.all` returns for a list of children: in their order, each with its own type. */
export type JoinedOf<
  Handles extends readonly Child<unknown>[],
  Policy extends OnDead,
> = Policy extends 'collect'
  ? { -readonly [Index in keyof Handles]: Ended<OutputOfChild<Handles[Index]>> }
  : Policy extends 'ignore'
    ? OutputOfChild<Handles[number]>[]
    : { -readonly [Index in keyof Handles]: OutputOfChild<Handles[Index]> }

/** The calls of a handler's context that make jobs and wait for them. */
export interface ChildMethods {
  /**
   * Makes a job that belongs to this one: it is stored at once, and once, however often the handler is called. If this job is
   * cancelled, so is the child; if it ends otherwise, the child goes on.
   */
  spawn<Contract extends JobContract>(
    contract: Contract,
    input: InputOf<Contract>,
    options?: SpawnOptions,
  ): Promise<ChildOf<Contract>>
  /** Makes up to 100,000 jobs, all or none. `results()` of what it returns waits for them. */
  spawnAll<Contract extends JobContract>(
    contract: Contract,
    inputs: Iterable<InputOf<Contract>>,
    options?: SpawnOptions,
  ): Promise<ChildrenOf<Contract>>
  /**
   * Makes a job for each input, and waits without a slot until all have ended; returns their results in the order of the inputs,
   * at most 16 MiB together.
   */
  all<Contract extends JobContract, Policy extends OnDead = 'fail'>(
    contract: Contract,
    inputs: Iterable<InputOf<Contract>>,
    options?: AllOptions<Policy>,
  ): Promise<ResultsOf<Contract, Policy>>
  /** Waits without a slot until these children have ended; returns their results in this order. */
  all<const Handles extends readonly Child<unknown>[], Policy extends OnDead = 'fail'>(
    children: Handles,
    options?: JoinOptions<Policy>,
  ): Promise<JoinedOf<Handles, Policy>>
}

export function resolveJoin({ onDead = 'fail', name, ...rest }: JoinOptions): {
  onDead: OnDead
  name: string
} {
  rejectUnknown('ctx.all()', rest, ['onDead', 'name'])
  return { onDead: policyOption(onDead), name: nameOf(name, '') }
}

export function resolveAll(
  { onDead = 'fail', name, ...options }: AllOptions,
  kind: string,
): { onDead: OnDead; name: string; job: JobOptions } {
  return { onDead: policyOption(onDead), ...resolveSpawn({ name, ...options }, kind) }
}

/** Options of the job are checked with its input. */
export function resolveSpawn(
  { name, ...options }: SpawnOptions,
  kind: string,
): { name: string; job: JobOptions } {
  for (const refused of ['unique', 'idempotencyKey', 'idempotencyFor'] as const)
    if (refused in options)
      throw invalidOption(
        refused,
        'left out: each child is a job of its own',
        options[refused as keyof typeof options],
      )
  return { name: nameOf(name, kind), job: { ...options, unique: false } }
}

function nameOf(name: string | undefined, otherwise: string): string {
  return name === undefined ? otherwise : stepName(name)
}

const policies: readonly unknown[] = ['fail', 'cancel', 'collect', 'ignore'] satisfies OnDead[]

function policyOption(onDead: OnDead): OnDead {
  if (policies.includes(onDead)) return onDead
  throw invalidOption('onDead', `'fail', 'cancel', 'collect' or 'ignore'`, onDead)
}
