import { onTestFinished } from 'vitest'
import { patienceMs } from '../support/patience.ts'

export interface ReadEvent {
  event: string
  id: string | undefined
  data: Record<string, unknown>
}

/** Reads a stream of server-sent events as a browser does, and keeps all events. */
export class EventReader {
  readonly events: ReadEvent[] = []
  /** The id that a browser would send as Last-Event-ID. */
  lastId = ''
  isEnded = false
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #waiting = new Set<() => void>()

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader()
    onTestFinished(() => this.close())
    void this.#read()
  }

  /** The first event that matches, already received or still to come. */
  async tells(match: (event: ReadEvent) => boolean, what = 'what the test waits for'): Promise<ReadEvent> {
    await this.until(() => this.events.some(match), what)
    const found = this.events.find(match)
    if (found === undefined) throw new Error(what)
    return found
  }

  until(test: () => boolean, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (!test()) return
        this.#waiting.delete(look)
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(look)
        reject(
          new Error(`Nothing told of ${what}; told so far: ${JSON.stringify(this.events).slice(0, 2_000)}`),
        )
      }, patienceMs)
      this.#waiting.add(look)
      look()
    })
  }

  /** Ends as when a connection breaks: nothing reads the stream any more. */
  async close(): Promise<void> {
    await this.#reader.cancel().catch(() => undefined)
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder()
    let text = ''
    try {
      for (;;) {
        const { value, done } = await this.#reader.read()
        if (done) break
        text += decoder.decode(value, { stream: true })
        const blocks = text.split('\n\n')
        text = blocks.pop() ?? ''
        for (const block of blocks) this.#take(block)
        for (const look of [...this.#waiting]) look()
      }
    } catch {
      // The connection was cut.
    }
    this.isEnded = true
    for (const look of [...this.#waiting]) look()
  }

  #take(block: string): void {
    const fields = new Map<string, string>()
    for (const line of block.split('\n')) {
      if (line.startsWith(':')) continue
      const [, name = line, value = ''] = /^([^:]+):? ?(.*)$/.exec(line) ?? []
      fields.set(name, value)
    }
    const id = fields.get('id')
    if (id !== undefined) this.lastId = id
    const data = fields.get('data')
    if (data === undefined) return
    this.events.push({
      event: fields.get('event') ?? 'message',
      id,
      data: JSON.parse(data) as Record<string, unknown>,
    })
  }
}
