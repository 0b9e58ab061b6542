import type { ProbedCall, StepProbe } from '../worker/attempt/steps/probe.ts'

/** A call of a step's function. */
export interface StepCall {
  readonly jobId: string
  readonly kind: string
  /** The name of the step, and how many calls of that name came before it in its handler. */
  readonly step: string
  readonly n: number
  /** The step had been finished before: it was stored, and ran again. */
  readonly isRepeat: boolean
}

/** One run of a test: what its handlers do between two beginnings. */
export class StepRun {
  readonly ledger: StepCall[] = []
  /** Records that were stored. */
  records = 0
  /** The record behind which the memory was dropped. */
  droppedAfter: string | undefined
  readonly dropAt: number
  readonly #finished = new Set<string>()
  readonly #lastPages = new Map<string, string>()

  constructor(dropAt: number) {
    this.dropAt = dropAt
  }

  called(call: ProbedCall & { page: string }): void {
    const { jobId, kind, name, n, page } = call
    this.#lastPages.set(keyOf(call), page)
    const isRepeat = this.#finished.has(placeOf(call, page))
    this.ledger.push({ jobId, kind, step: name, n, isRepeat })
  }

  /** Returns true if the memory is to be dropped behind this record. */
  recorded(call: Parameters<StepProbe['recorded']>[0]): boolean {
    this.records++
    // Each record of ctx.each() is about one page that is done. Any other open record is about a wait or a further try.
    const page = this.#lastPages.get(keyOf(call))
    if (page !== undefined && (call.state !== 'open' || call.type === 'each'))
      this.#finished.add(placeOf(call, page))
    if (this.records !== this.dropAt) return false
    this.droppedAfter = `'${call.name}' of '${call.kind}'`
    return true
  }
}

function keyOf({ jobId, name, n }: ProbedCall): string {
  return `${jobId} ${n} ${name}`
}

function placeOf(call: ProbedCall, page: string): string {
  return `${keyOf(call)}\n${page}`
}

/** The steps of one test: which are mocked, and what became of them in the run of now. */
export class TestSteps {
  readonly #mocks = new Map<string, unknown>()
  #run = new StepRun(Infinity)

  mock(kind: string, step: string, result: unknown): void {
    this.#mocks.set(`${kind}\n${step}`, result)
  }

  /** Begins another run, in which the memory is dropped behind the record of this number. */
  begin(dropAt: number): StepRun {
    return (this.#run = new StepRun(dropAt))
  }

  /** For one worker: it has a memory to lose. */
  probe(onDrop: () => void): StepProbe {
    const mocks = this.#mocks
    const current = (): StepRun => this.#run
    let isDropped = false
    return {
      get isDropped() {
        return isDropped
      },
      run<Value>(call: ProbedCall & { page: string }, real: () => Value, given: readonly unknown[]): Value {
        // Another handler of a worker that is gone.
        if (isDropped) return new Promise(() => undefined) as Value
        current().called(call)
        const key = `${call.kind}\n${call.name}`
        if (!mocks.has(key)) return real()
        const mock = mocks.get(key)
        // A mock has no type: what it returns is what the step returns.
        return (
          typeof mock === 'function' ? (mock as (...args: readonly unknown[]) => unknown)(...given) : mock
        ) as Value
      },
      recorded(call) {
        if (isDropped || !current().recorded(call)) return
        isDropped = true
        onDrop()
      },
    }
  }
}
