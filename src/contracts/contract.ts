import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Backoff } from '../core/failures/backoff.ts'
import type { Duration } from '../core/duration.ts'
import type { FailureClass } from '../core/failures/failure.ts'
import type { ClassRules } from '../core/failures/retry-policy.ts'

export type { Backoff, FailureClass }

/** What happens when a unique job meets an earlier one with the same unique key. */
export const conflictPolicies = ['keep', 'replace', 'debounce', 'error'] as const
export type ConflictPolicy = (typeof conflictPolicies)[number]

export interface UniqueOptions {
  /**
   * How long the first job blocks further ones: until a worker starts it, or until it has ended.
   *
   * @default 'finished', unless `for` is given
   */
  until?: 'started' | 'finished' | undefined
  /** Instead of `until`: for this long from the first enqueue, even if the job ends earlier. */
  for?: Duration | undefined
  /**
   * `keep` leaves the first job unchanged; `replace` gives it the new input, priority and options, but keeps its time;
   * `debounce` does that and moves it to the new time; `error` throws `duplicate-job`. A job that is running or has
   * ended is always kept.
   *
   * @default 'keep'
   */
  onConflict?: ConflictPolicy | undefined
}

export interface RetryOptions {
  /** Attempts in all, the first included; 1 to 1,000. @default 5 */
  attempts?: number | undefined
  /** @default ['30s', '5m', '30m', '2h'] with jitter */
  backoff?: Backoff | undefined
  /** What follows from a failure of each class, where it differs from the default. */
  classes?: { readonly [Class in FailureClass]?: ClassRuleOptions | undefined } | undefined
  /** The class of the handler's error, or `undefined` to let Stint decide. If `classify` throws, it is ignored. */
  classify?: ((error: unknown) => FailureClass | undefined) | undefined
}

/** `'retry'` is on the job's own attempts and backoff, `'dead'` at the first failure. */
export type ClassRuleOptions =
  | 'retry'
  | 'dead'
  | {
      /** `'in-place'`: a few quick tries within the attempt, then as `'retry'`. @default that of the class */
      action?: 'retry' | 'dead' | 'in-place' | undefined
      /**
       * A budget of its own: failures of this class count against it, and not against the job's attempts; 1 to 1,000.
       * With `'in-place'`, the quick tries; 1 to 10.
       */
      attempts?: number | undefined
      /** Instead of the job's backoff. */
      backoff?: Backoff | undefined
    }

/** Words under which people find a job: at most 8, `{ country: 'BR', order: 77 }`. */
export type SearchTokens = Readonly<Record<string, string | number | boolean | null | undefined>>

/** How each older version's input becomes the next one's: `{ 1: (v1) => v2, 2: (v2) => v3 }`. */
export type Upcasters = Readonly<Record<number, (input: never) => unknown>>

export interface JobDefinition<
  Kind extends string,
  InputSchema extends StandardSchemaV1,
  OutputSchema extends StandardSchemaV1,
> {
  /** The type of job: 1 to 128 letters, digits and `_ . : / % -`, such as `image.resize`. */
  kind: Kind
  /** The queue in which its jobs wait; same alphabet. @default 'default' */
  queue?: string | undefined
  /** The schema of a job's input: any Standard Schema (zod, valibot, arktype …). Without one, any JSON. */
  input?: InputSchema | undefined
  /** The schema of its handler's result. Use `typed<T>()` for a type without a check. */
  output?: OutputSchema | undefined
  /** The version of the input's shape; raise it when the shape changes. 1 to 32,767. @default 1 */
  version?: number | undefined
  /** For inputs that older code enqueued. Needs an entry for every version from the oldest supported up. */
  upcast?: Upcasters | undefined
  /** -100 to 100, higher runs sooner. @default 0 */
  priority?: number | undefined
  retry?: RetryOptions | undefined
  /** How long one attempt may take. @default '5m' */
  timeout?: Duration | undefined
  /** A job must not start later than this after it was due. @default none */
  deadline?: Duration | undefined
  /** The tenant or entity the job belongs to; at most 512 bytes. */
  key?: ((input: StandardSchemaV1.InferOutput<InputSchema>) => string | undefined) | undefined
  /** One job at a time for the same input, or for what `by` makes of it. */
  unique?:
    | (UniqueOptions & { by?: ((input: StandardSchemaV1.InferOutput<InputSchema>) => string) | undefined })
    | undefined
  search?: ((input: StandardSchemaV1.InferOutput<InputSchema>) => SearchTokens) | undefined
  /**
   * `'key'`: the jobs of a key start in the order in which they were stored, one after the other. Needs `key`; a job of this
   * contract takes no `priority`, `runAt`, `delay` or `queue`. @default no order
   */
  order?: 'key' | undefined
  /**
   * With `order`: whether a job that failed and will be tried again holds the later ones of its key; false: they pass it.
   * @default true
   */
  hold?: boolean | undefined
  /** The rates that its jobs spend tokens of, by name; at most 20. A worker that handles it must know them. */
  rates?: readonly string[] | undefined
  /** Tokens that a job takes of each of its rates; an integer from 1 up. @default 1 */
  cost?: ((input: StandardSchemaV1.InferOutput<InputSchema>) => number) | undefined
  /** The breakers that its jobs depend on, by name; at most 20. While one is open, its jobs stay ready. */
  breakers?: readonly string[] | undefined
  /**
   * Parts of input, result and log data that the console never shows: `['card.number', 'items[].token']`, besides
   * those whose name says it (`password`, `token` …). At most 50. The stored data is not changed.
   */
  redact?: readonly string[] | undefined
}

export interface UniqueRule {
  readonly until: 'started' | 'finished' | undefined
  readonly forMs: number | undefined
  readonly onConflict: ConflictPolicy
}

export interface RetryRule {
  readonly attempts: number
  readonly backoff: Backoff
  /** The rules for all classes: those of the contract, and the defaults for the rest. */
  readonly rules: ClassRules
  readonly classify?: (error: unknown) => FailureClass | undefined
}

/** A complete, checked definition. Importing one pulls in neither its handler nor the database driver. */
export interface JobContract<
  Kind extends string = string,
  Input = unknown,
  Parsed = unknown,
  Output = unknown,
> {
  readonly kind: Kind
  readonly queue: string
  readonly version: number
  readonly priority: number
  readonly retry: RetryRule
  readonly timeoutMs: number
  readonly deadlineMs: number | undefined
  readonly inputSchema: StandardSchemaV1<Input, Parsed> | undefined
  readonly outputSchema: StandardSchemaV1<unknown, Output> | undefined
  readonly upcast: ReadonlyMap<number, (input: unknown) => unknown>
  // Methods, not properties: a contract of one input must be assignable to a contract of any input.
  keyOf?(input: Parsed): string | undefined
  uniqueBy?(input: Parsed): string
  readonly unique: UniqueRule | undefined
  searchOf?(input: Parsed): SearchTokens
  costOf?(input: Parsed): number
  /** Whether its jobs start in order within their key, and what a failed one does to the later ones. */
  readonly ordered: 'hold' | 'pass' | undefined
  readonly rates: readonly string[]
  readonly breakers: readonly string[]
  /** Paths that the console never shows, besides those with a telling name (`password`, `token` …). */
  readonly redact: readonly string[]
}

/** What a producer passes in. */
export type InputOf<Contract> = Contract extends JobContract<string, infer Input> ? Input : never
/** What a handler gets: after the schema's defaults and transformations. */
export type ParsedInputOf<Contract> =
  Contract extends JobContract<string, unknown, infer Parsed> ? Parsed : never
/** What a handler returns. */
export type OutputOf<Contract> =
  Contract extends JobContract<string, unknown, unknown, infer Output> ? Output : never
/** The input, which only a contract without a schema may leave out: undefined cannot be stored. */
export type EnqueueArguments<Contract, Options> =
  unknown extends InputOf<Contract>
    ? [input?: unknown, options?: Options]
    : [input: Exclude<InputOf<Contract>, undefined>, options?: Options]
