import { setTimeout as pause } from 'node:timers/promises'
import { ResettableClient } from './resettable-client.ts'
import { waitAfterMs } from './wait.ts'

export interface SubscriptionConfig {
  /** Straight to the server: a pooler between transactions would swallow what it says. */
  url: string
  channel: string
  applicationName: string
  /** How long connecting, listening and each probe may take. */
  deadlineMs: number
  /** How often to ask whether the connection still lives. */
  probeEveryMs: number
  onPayload: (payload: string) => void
  /** It listens, after having been deaf: something may have been missed. */
  onConnected: () => void
}

/**
 * One LISTEN connection that is kept alive. A half-open one hears nothing and says nothing, so it is probed; whatever
 * goes wrong, it is reset and made anew, with a growing, random wait. Nobody depends on it.
 */
export class Subscription {
  readonly #config: SubscriptionConfig
  readonly #stop = new AbortController()
  #client: ResettableClient | undefined
  #loop: Promise<void> | undefined

  constructor(config: SubscriptionConfig) {
    this.#config = config
  }

  start(): void {
    this.#loop ??= this.#keepListening()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    this.#client?.reset()
    await this.#loop
  }

  async #keepListening(): Promise<void> {
    const { signal } = this.#stop
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await this.#listen(() => (failures = 0))
      } catch {
        // Nobody depends on it: polling goes on meanwhile.
      }
      await pause(waitAfterMs(failures), undefined, { signal }).catch(() => undefined)
    }
  }

  async #listen(onSuccess: () => void): Promise<void> {
    const { url, channel, applicationName, deadlineMs, probeEveryMs, onPayload, onConnected } = this.#config
    // Ended with the connection: a wait for its next probe must not outlive it.
    const over = new AbortController()
    const signal = AbortSignal.any([this.#stop.signal, over.signal])
    const client = new ResettableClient({
      connectionString: url,
      application_name: applicationName,
      keepAlive: true,
      connectionTimeoutMillis: deadlineMs,
    })
    this.#client = client
    const ended = new Promise<never>((_, reject) => {
      client.once('end', () => {
        reject(new Error('The connection ended'))
      })
    })
    ended.catch(() => undefined)
    try {
      client.on('notification', ({ payload }) => {
        if (payload !== undefined) onPayload(payload)
      })
      await client.connect()
      await within(deadlineMs, client.query(`listen "${channel}"`))
      onSuccess()
      onConnected()
      while (!signal.aborted) {
        await Promise.race([pause(probeEveryMs, undefined, { signal, ref: false }), ended])
        await within(deadlineMs, client.query('select 1'))
      }
    } finally {
      over.abort()
      client.reset()
    }
  }
}

async function within<Result>(ms: number, call: Promise<Result>): Promise<Result> {
  const timeout = new AbortController()
  const late = pause(ms, undefined, { signal: timeout.signal }).then(() => {
    throw new Error(`No answer within ${ms} ms`)
  })
  late.catch(() => undefined)
  try {
    return await Promise.race([call, late])
  } finally {
    timeout.abort()
  }
}
