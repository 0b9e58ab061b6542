import type { InputOf, JobContract } from '../../contracts/contract.ts'
import type { SignalContract } from '../../contracts/signal.ts'
import type { Duration } from '../../core/duration.ts'
import type { PgTransaction } from '../../db/foreign-tx.ts'
import type { ApprovalOptions } from './steps/approval.ts'
import type { ChildCalls } from './steps/child-calls.ts'
import type {
  AllOptions,
  Child,
  ChildMethods,
  ChildOf,
  ChildrenOf,
  JoinOptions,
  SpawnOptions,
  WaitForJobOptions,
} from './steps/child-options.ts'
import type {
  EachOptions,
  Pages,
  ReceivedSignal,
  StepContext,
  StepOptions,
  WaitOptions,
} from './steps/step-options.ts'
import type { Steps } from './steps/steps.ts'
import type { Stored } from './steps/stored-value.ts'

/** What makes the recorded calls of an attempt. */
export interface RecordedCalls {
  readonly steps: Steps
  readonly children: ChildCalls
}

/** The calls of a handler's context that are recorded; the declarations of HandlerContext have the types of their results. */
export abstract class RecordedContext implements ChildMethods {
  protected abstract readonly calls: RecordedCalls

  step<Value>(
    name: string,
    run: (step: StepContext) => Value | Promise<Value>,
    options?: StepOptions,
  ): Promise<Stored<Value>> {
    return this.calls.steps.step(name, run, options)
  }

  stepTx<Value>(name: string, work: (tx: PgTransaction) => Promise<Value>): Promise<Stored<Value>> {
    return this.calls.steps.stepTx(name, work)
  }

  each<Item>(
    name: string,
    items: readonly Item[] | Pages<Item>,
    options: EachOptions,
    run: (batch: Item[], step: StepContext) => Promise<void> | void,
  ): Promise<void> {
    return this.calls.steps.each(name, items, options, run)
  }

  sleep(span: Duration | Date, options?: { name?: string | undefined }): Promise<void> {
    return this.calls.steps.sleep(span, options)
  }

  waitForSignal<Payload>(
    signal: SignalContract<Payload> | string,
    options?: WaitOptions,
  ): Promise<ReceivedSignal<Payload>> {
    // The declaration of HandlerContext has the other result: only a wait with a timeout can time out.
    return this.calls.steps.waitForSignal(signal, options) as Promise<ReceivedSignal<Payload>>
  }

  approval<Given, Answers extends Readonly<Record<string, Given>>>(
    signal: SignalContract<unknown, Given> | string,
    answers: Answers,
    options: ApprovalOptions,
  ): Promise<{ [Name in keyof Answers]: string }> {
    return this.calls.steps.approval(signal, answers, options)
  }

  version(name: string, oldest: number, newest: number): Promise<number> {
    return this.calls.steps.version(name, oldest, newest)
  }

  spawn<Contract extends JobContract>(
    contract: Contract,
    input: InputOf<Contract>,
    options?: SpawnOptions,
  ): Promise<ChildOf<Contract>> {
    return this.calls.children.spawn(contract, input, options) as Promise<ChildOf<Contract>>
  }

  spawnAll<Contract extends JobContract>(
    contract: Contract,
    inputs: Iterable<InputOf<Contract>>,
    options?: SpawnOptions,
  ): Promise<ChildrenOf<Contract>> {
    return this.calls.children.spawnAll(contract, inputs, options) as Promise<ChildrenOf<Contract>>
  }

  all(contract: JobContract, inputs: Iterable<never>, options?: AllOptions): Promise<never>
  all(children: readonly Child<unknown>[], options?: JoinOptions): Promise<never>
  all(
    ...[first, second, third]: [JobContract | readonly Child<unknown>[], object?, AllOptions?]
  ): Promise<unknown[]> {
    return this.calls.children.all(first as JobContract, second as Iterable<unknown>, third)
  }

  waitForJob(
    contract: JobContract,
    ids: string | readonly string[],
    options?: WaitForJobOptions,
  ): Promise<never> {
    // The declaration of HandlerContext has the results: only a wait with a timeout can time out.
    return this.calls.children.waitForJob(contract, ids, options) as Promise<never>
  }
}
