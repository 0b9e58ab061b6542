import { appendFileSync, readSync, openSync, closeSync, watch, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { onTestFinished } from 'vitest'

/** A line that a process under test wrote: about a job, or an event of its worker. */
export interface Line {
  /** `start` and `end` of a handler, `event`, or a type that an act of the program uses. */
  type: string
  /** Milliseconds on the monotonic clock, which all processes of the machine share. */
  at: number
  /** The name of the process that wrote it. */
  worker: string
  job?: string
  queue?: string
  attempt?: number
  epoch?: number
  token?: string
  /** The id of the worker at that moment. */
  workerId?: string
  /** The name of an event. */
  name?: string
  said?: Record<string, unknown>
  n?: number
  [more: string]: unknown
}

export type LineTest = Partial<Line> | ((line: Line) => boolean)

const longestMs = 40_000

/**
 * A record of what happened, outside of the database under test: a file that processes append lines to. It outlives them,
 * and a wait for a line is woken by a change of the file, not by a timer.
 */
export class Ledger {
  readonly file: string
  readonly #lines: Line[] = []
  readonly #waiting = new Set<() => void>()
  readonly #fd: number
  /** A read may end inside a multi-byte character. */
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''

  constructor(file: string) {
    this.file = file
    writeFileSync(file, '')
    this.#fd = openSync(file, 'r')
    const watcher = watch(file, () => {
      this.#read()
      for (const look of this.#waiting) look()
    })
    onTestFinished(() => {
      watcher.close()
      closeSync(this.#fd)
    })
  }

  /** Records what the test does to the processes, on their clock. Call it before the act. */
  append(line: Omit<Line, 'at'>): void {
    appendFileSync(this.file, `${JSON.stringify({ ...line, at: monotonicMs() })}\n`)
  }

  /** All matching lines so far, in the order they were written. */
  lines(test: LineTest = {}): Line[] {
    this.#read()
    return this.#lines.filter((line) => passes(line, test))
  }

  /** The first matching line, already written or still to come. */
  async wrote(test: LineTest): Promise<Line> {
    const [line] = await this.wroteMany(test, 1)
    return line as Line
  }

  /** The first `count` matching lines. */
  wroteMany(test: LineTest, count: number): Promise<Line[]> {
    return new Promise((resolve, reject) => {
      const passed: Line[] = []
      let looked = 0
      const look = (): void => {
        this.#read()
        // A function may judge an old line differently later, so look at all lines again; a pattern needs only new lines.
        if (typeof test === 'function') looked = passed.length = 0
        for (; looked < this.#lines.length && passed.length < count; looked++) {
          const line = this.#lines[looked] as Line
          if (passes(line, test)) passed.push(line)
        }
        if (passed.length < count) return
        done()
        resolve(passed)
      }
      const done = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(look)
      }
      const timer = setTimeout(() => {
        done()
        const last = this.#lines.slice(-40).map((line) => JSON.stringify(line))
        const wanted = typeof test === 'function' ? String(test) : JSON.stringify(test)
        reject(new Error(`${count} × ${wanted} was not written. The last lines:\n${last.join('\n')}`))
      }, longestMs)
      this.#waiting.add(look)
      look()
    })
  }

  #read(): void {
    const chunk = Buffer.alloc(64 * 1024)
    for (;;) {
      const bytes = readSync(this.#fd, chunk, 0, chunk.length, null)
      if (bytes === 0) break
      this.#rest += this.#decoder.write(chunk.subarray(0, bytes))
    }
    const texts = this.#rest.split('\n')
    this.#rest = texts.pop() ?? ''
    for (const text of texts) this.#lines.push(JSON.parse(text) as Line)
  }
}

/** An empty ledger for one test. */
export async function createLedger(): Promise<Ledger> {
  const dir = await mkdtemp(join(tmpdir(), 'stint-ledger-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return new Ledger(join(dir, 'ledger.jsonl'))
}

/** The current time on the clock of the ledger. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

function passes(line: Line, test: LineTest): boolean {
  if (typeof test === 'function') return test(line)
  return Object.entries(test).every(([name, value]) => line[name] === value)
}
