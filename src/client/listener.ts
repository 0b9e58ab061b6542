import { Subscription } from '../db/subscription.ts'
import { endedChannelOf } from '../jobs/wake-up/ended.ts'
import { channelOf } from '../jobs/wake-up/hint.ts'
import type { Connection } from './connection.ts'

export interface ListenerConfig {
  connection: Connection
  schema: string
  notify: boolean
  /** The URL for LISTEN, if it is not that of `connection`; false: no LISTEN. */
  listenConnection: string | false | undefined
}

/** A part of the client that listens. */
export interface Hearer {
  onPayload(payload: string): void
  /** It listens from now on; what was sent before may have been missed. */
  onConnected?(): void
}

const deadlineMs = 5_000
const probeEveryMs = 15_000

/**
 * The one LISTEN of a client: on a connection of its own, for as long as a part of the client listens. It only makes
 * answers faster. If it fails, or nothing arrives because of a pooler, polling finds everything.
 */
export class Listener {
  readonly #config: ListenerConfig
  readonly #hearers = new Set<Hearer>()
  #opening: Promise<Subscription | undefined> | undefined
  #isConnected = false

  constructor(config: ListenerConfig) {
    this.#config = config
  }

  /** Listens until the returned function is called, which resolves when the connection is released. */
  hear(hearer: Hearer): () => Promise<void> {
    const { notify, listenConnection } = this.#config
    if (!notify || listenConnection === false) return () => Promise.resolve()
    this.#hearers.add(hearer)
    if (this.#isConnected) hearer.onConnected?.()
    this.#opening ??= this.#open()
    return () => this.#leave(hearer)
  }

  async #leave(hearer: Hearer): Promise<void> {
    this.#hearers.delete(hearer)
    if (this.#hearers.size > 0) return
    const opening = this.#opening
    this.#opening = undefined
    this.#isConnected = false
    await (await opening)?.stop()
  }

  async #open(): Promise<Subscription | undefined> {
    const { connection, schema, listenConnection } = this.#config
    try {
      await connection.database()
    } catch {
      // Polling meets the same error, and reports it.
      return undefined
    }
    const url =
      listenConnection === undefined || listenConnection === false ? connection.url : listenConnection
    if (url === undefined) return undefined
    const subscription = new Subscription({
      url,
      channels: [channelOf(schema), endedChannelOf(schema)],
      applicationName: 'stint listen',
      deadlineMs,
      probeEveryMs,
      onPayload: (payload) => {
        for (const hearer of [...this.#hearers]) hearer.onPayload(payload)
      },
      onConnected: () => {
        this.#isConnected = true
        for (const hearer of [...this.#hearers]) hearer.onConnected?.()
      },
    })
    subscription.start()
    return subscription
  }
}
