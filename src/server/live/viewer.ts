import type { Caller } from '../auth/caller.ts'
import type { Topic } from './topic.ts'

export interface ViewerConfig {
  caller: Caller
  topics: readonly Topic[]
  /** The prefix of its event ids: identifies this process and the topics of the viewer. */
  epoch: string
  /** Bytes that may wait for the reader; a slower reader is disconnected. */
  mostBytes: number
  /** `isSlow`: it was disconnected because it read too slowly. */
  onGone: (isSlow: boolean) => void
}

const encoder = new TextEncoder()

/** One stream of events to one client. */
export class Viewer {
  readonly topics: ReadonlyMap<string, Topic>
  readonly stream: ReadableStream<Uint8Array>
  caller: Caller
  /** Topics without a snapshot so far. Until there are none, events have no id: the viewer could not continue from there. */
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

  /** Sends an event; with `seq` it gets an id, from which the viewer can continue. False if the reader is gone. */
  send(text: string, seq?: number): boolean {
    const controller = this.#controller
    if (controller === undefined) return false
    // Only bytes that already wait count, not this event: a snapshot may be large, and cannot be sent in part.
    if ((controller.desiredSize ?? 0) < 0) {
      this.#leave(true)
      controller.error(new Error('The reader of a stream of events is too slow'))
      return false
    }
    const id = seq === undefined || this.unseen.size > 0 ? '' : `id: ${this.#config.epoch}-${seq}\n`
    controller.enqueue(encoder.encode(`${id}${text}\n`))
    return true
  }

  /** Ends the stream after the events that were sent. */
  close(): void {
    const controller = this.#controller
    this.#leave()
    try {
      controller?.close()
    } catch {
      // The reader has already gone.
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
