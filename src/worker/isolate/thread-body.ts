import { Worker as Thread } from 'node:worker_threads'
import { peek } from '../../core/failures/thrown.ts'
import { builtFile } from '../../node/built-file.ts'
import { isOurs } from './body.ts'
import type { Body, BodyConfig } from './body.ts'
import type { ToChild } from './messages.ts'

/** A thread of this process. */
export class ThreadBody implements Body {
  readonly #thread: Thread
  #isOutOfMemory = false

  constructor({ memoryMb, onMessage, onEnd }: BodyConfig) {
    const thread = new Thread(builtFile('worker/isolate/child-program'), {
      name: 'stint child',
      argv: process.argv.slice(2),
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    })
    this.#thread = thread
    thread.on('message', (message: unknown) => {
      if (isOurs(message)) onMessage(message)
    })
    thread.on('error', (error) => {
      this.#isOutOfMemory = peek(error, 'code') === 'ERR_WORKER_OUT_OF_MEMORY'
    })
    thread.once('exit', (code) => {
      const cause = this.#isOutOfMemory ? ` (out of memory at ${memoryMb} MB of heap)` : ''
      onEnd(`its thread ended with exit code ${code}${cause}`)
    })
  }

  readonly pid = undefined

  post(message: ToChild): void {
    this.#thread.postMessage(message)
  }

  kill(): void {
    void this.#thread.terminate()
  }

  keepAlive(isNeeded: boolean): void {
    this.#thread[isNeeded ? 'ref' : 'unref']()
  }
}
