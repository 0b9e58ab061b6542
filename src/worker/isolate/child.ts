import type { Body } from './body.ts'
import type { IsolateMode } from './isolate-options.ts'
import type { FromChild, Introduction, JobMessage, ToChild } from './messages.ts'
import { ProcessBody } from './process-body.ts'
import { ThreadBody } from './thread-body.ts'

/** Loading the entry takes a second or two if it has to be compiled; only an entry that hangs takes this long. */
const longestLoadMs = 60_000
/** How long a child that is told to end has before it is killed. */
const endWithinMs = 1_500
/** A body that was killed and has not ended after this will not end: a thread inside of native code. */
const longestDeathMs = 5_000

export interface ChildConfig {
  mode: IsolateMode
  memoryMb: number
  introduction: Introduction
  onGone: (child: Child) => void
  /** A job threw an error after its attempt was over. */
  onLate: (thrown: { jobId: string; kind: string; message: string }) => void
}

/** One child process or thread, as its worker sees it: loading, free, taken, gone. */
export class Child {
  readonly mode: IsolateMode
  readonly memoryMb: number
  /** The kinds that it has handlers for; rejects where it could not be loaded. */
  readonly ready: Promise<readonly string[]>
  /** Resolves when it has ended, with a text that says how. */
  readonly gone: Promise<string>
  isTaken = false
  /** Jobs that it was given. */
  jobs = 0
  readonly #body: Body
  #isEnding = false
  #uncaught: string | undefined
  readonly #onLate: ChildConfig['onLate']
  #idle: NodeJS.Timeout | undefined
  #listener: (message: JobMessage) => void = () => undefined
  #onReady: (kinds: readonly string[]) => void = () => undefined
  #onFailed: (error: Error) => void = () => undefined
  #onGone: (story: string) => void = () => undefined

  constructor({ mode, memoryMb, introduction, onGone, onLate }: ChildConfig) {
    this.#onLate = onLate
    this.mode = mode
    this.memoryMb = memoryMb
    this.ready = new Promise((resolve, reject) => {
      this.#onReady = resolve
      this.#onFailed = reject
    })
    this.gone = new Promise((resolve) => (this.#onGone = resolve))
    const timer = setTimeout(() => {
      this.#onFailed(new Error(`${introduction.entry} was not loaded within ${longestLoadMs / 1_000} s`))
      this.kill()
    }, longestLoadMs)
    timer.unref()
    // The promise may have no listener: then its rejection must not end the process.
    const settled = this.ready.catch(() => undefined)
    void settled.then(() => {
      clearTimeout(timer)
    })
    void this.gone.then((story) => {
      clearTimeout(this.#idle)
      this.#onFailed(new Error(story))
      onGone(this)
    })
    const onEnd = (story: string): void => {
      this.#isEnding = true
      this.#onGone(this.#uncaught === undefined ? story : `${story}, after an uncaught ${this.#uncaught}`)
    }
    const onMessage = (message: FromChild): void => {
      this.#hear(message)
    }
    this.#body = new (mode === 'process' ? ProcessBody : ThreadBody)({ memoryMb, onMessage, onEnd })
    this.#body.keepAlive(false)
    this.#body.post(introduction)
  }

  get pid(): number | undefined {
    return this.#body.pid
  }

  get isFree(): boolean {
    return !this.isTaken && !this.#isEnding
  }

  get isEnding(): boolean {
    return this.#isEnding
  }

  take(): void {
    this.isTaken = true
    this.#uncaught = undefined
    clearTimeout(this.#idle)
    // A running handler keeps the process alive, also in a child.
    this.#body.keepAlive(true)
  }

  /** It may be taken by the next job; after `idleMs` without one it ends. */
  free(idleMs: number): void {
    this.isTaken = false
    this.#listener = () => undefined
    this.#body.keepAlive(false)
    this.#idle = setTimeout(() => void this.end(), idleMs)
    this.#idle.unref()
  }

  /** Sets the listener for messages of its job. */
  listen(listener: (message: JobMessage) => void): void {
    this.#listener = listener
  }

  post(message: ToChild): void {
    this.#body.post(message)
  }

  /** Asks it to end, and kills it if it does not. */
  async end(): Promise<void> {
    this.#isEnding = true
    this.#body.post({ type: 'end' })
    const timer = setTimeout(() => {
      this.kill()
    }, endWithinMs)
    await this.gone
    clearTimeout(timer)
  }

  kill(): void {
    this.#isEnding = true
    this.#body.kill()
    const timer = setTimeout(() => {
      this.#onGone('it was killed, and did not end')
    }, longestDeathMs)
    void this.gone.then(() => {
      clearTimeout(timer)
    })
  }

  #hear(message: FromChild): void {
    switch (message.type) {
      case 'ready':
        this.#onReady(message.kinds)
        return
      case 'failed':
        this.#onFailed(new Error(message.message))
        void this.end()
        return
      case 'uncaught':
        this.#uncaught = message.message
        // It may still run, so no other job gets it.
        this.#isEnding = true
        return
      case 'late':
        this.#onLate(message)
        return
      case 'begun':
      case 'progress':
      case 'line':
      case 'log':
      case 'write':
      case 'completed':
      case 'progressed':
      case 'stored':
      case 'outcome':
        this.#listener(message)
        return
    }
  }
}
