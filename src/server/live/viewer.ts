import type { Caller } from '../auth/caller.ts'
import type { Topic } from './topic.ts'

export interface ViewerConfig {
  caller: Caller
  topics: readonly Topic[]
  /** Of its ids: the console's, and that of what it asked for. */
  epoch: string
  /** Bytes that may wait for it; a reader that is further behind is cut off. */
  mostBytes: number
  /** `isSlow`: it was cut off. */
  onGone: (isSlow: boolean) => void
}

const encoder = new TextEncoder()

/** One stream to one reader. */
export class Viewer {
  readonly topics: ReadonlyMap<string, Topic>
  readonly stream: ReadableStream<Uint8Array>
  caller: Caller
  /** Topics it has not been shown yet. Until then nothing it gets has an id: it could not go on from there. */
  readonly unseen: Set<string>
  readonly #config: ViewerConfig
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined

  constructor(config: ViewerConfig) {
    this.#config = config
    this.caller = config.caller
    this.topics = new Map(config.topics.map((topic) => [topic.name, topic]))
    this.unseen = new Set(this.topics.keys())
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        cancel: () => {
          this.#leave()
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: config.mostBytes }),
    )
  }

  /** Sends an event; with `seq` it is one to go on from. False where the reader is gone. */
  send(text: string, seq?: number): boolean {
    const controller = this.#controller
    if (controller === undefined) return false
    // What waits already counts, not this one: a snapshot may be large, and is worth nothing in part.
    if ((controller.desiredSize ?? 0) < 0) {
      this.#leave(true)
      controller.error(new Error('The reader of a stream of events is too slow'))
      return false
    }
    const id = seq === undefined || this.unseen.size > 0 ? '' : `id: ${this.#config.epoch}-${seq}\n`
    controller.enqueue(encoder.encode(`${id}${text}\n`))
    return true
  }

  /** Ends the stream after what was sent. */
  close(): void {
    const controller = this.#controller
    this.#leave()
    try {
      controller?.close()
    } catch {
      // The reader has gone in the meantime.
    }
  }

  #leave(isSlow = false): void {
    if (this.#controller === undefined) return
    this.#controller = undefined
    this.#config.onGone(isSlow)
  }
}

/** An event in the format of text/event-stream, without its id. */
export function eventText(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n`
}
