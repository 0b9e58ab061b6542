import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterReading } from '../../db/standstill.ts'
import { builtFile } from '../../node/built-file.ts'
import { isOurs } from './body.ts'
import type { Body, BodyConfig } from './body.ts'
import { inheritedFlags } from './flags.ts'
import { guardFd, killGroup } from './guard.ts'
import type { ToChild } from './messages.ts'

/** Length of the kept end of standard error: V8 writes there that it ran out of memory. */
const keptErrors = 4_096
/** How long after the end of a process to wait for its last messages. */
const lastOutputMs = 1_000

/** A child process. It has a process group of its own: Ctrl-C in the terminal is for the worker. */
export class ProcessBody implements Body {
  readonly #child: ChildProcess
  readonly #memoryMb: number
  #errors = ''
  #rssBytes: number | undefined

  constructor({ memoryMb, onMessage, onEnd }: BodyConfig) {
    this.#memoryMb = memoryMb
    const child = fork(builtFile('worker/isolate/child-program'), process.argv.slice(2), {
      execArgv: [...inheritedFlags(process.execArgv), `--max-old-space-size=${memoryMb}`],
      serialization: 'advanced',
      // The fifth is the guard's.
      stdio: ['ignore', 'inherit', 'pipe', 'ipc', 'pipe'],
      detached: process.platform !== 'win32',
    })
    this.#child = child
    child.on('message', (message: unknown) => {
      if (!isOurs(message)) return
      if (message.type === 'ready') this.#rssBytes = message.rssBytes
      onMessage(message)
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#errors = (this.#errors + chunk.toString()).slice(-keptErrors)
      allErrors().write(chunk)
    })
    child.stdio[guardFd]?.on('data', (chunk: Buffer) => {
      const [line] = chunk.toString().trim().split('\n').slice(-1)
      this.#rssBytes = Number(line)
    })
    for (const stream of [child.stderr, child.stdio[guardFd]]) stream?.on('error', () => undefined)
    child.on('error', (error) => {
      if (child.pid === undefined) onEnd(`its child process could not be started: ${error.message}`)
    })
    child.once('exit', (code, signal) => {
      const end = (): void => {
        callOff()
        onEnd(this.#story(code, signal))
      }
      // Messages that it sent before its end may still be on their way.
      const callOff = afterReading(child.connected ? lastOutputMs : 0, end)
      if (child.connected) child.once('disconnect', () => setImmediate(end))
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  post(message: ToChild): void {
    if (this.#child.connected) this.#child.send(message, () => undefined)
  }

  kill(): void {
    const { pid } = this.#child
    if (pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null) killGroup(pid)
  }

  keepAlive(isNeeded: boolean): void {
    const verb = isNeeded ? 'ref' : 'unref'
    this.#child[verb]()
    this.#child.channel?.[verb]()
    for (const stream of [this.#child.stderr, this.#child.stdio[guardFd]])
      if (stream instanceof Socket) stream.unref()
  }

  #story(code: number | null, signal: NodeJS.Signals | null): string {
    const end = signal === null ? `ended with exit code ${code ?? 0}` : `was killed by ${signal}`
    const isAbort = signal === 'SIGABRT' || code === 134
    const cause =
      isAbort && /heap out of memory|allocation failed/i.test(this.#errors)
        ? ` (out of memory at ${this.#memoryMb} MB of heap)`
        : ''
    const memory =
      this.#rssBytes === undefined ? '' : `, with ${Math.round(this.#rssBytes / 2 ** 20)} MB of memory`
    return `its child process ${end}${cause}${memory}`
  }
}

let errors: PassThrough | undefined

/** One stream for the standard error of all children: a pipe for each would add too many listeners. */
function allErrors(): PassThrough {
  if (errors === undefined) {
    errors = new PassThrough()
    errors.pipe(process.stderr, { end: false })
  }
  return errors
}
