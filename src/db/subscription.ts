import { setTimeout as pause } from 'node:timers/promises'
import { ResettableClient } from './resettable-client.ts'
import { waitAfterMs } from './wait.ts'

export interface SubscriptionConfig {
  /** Straight to the server: a pooler in transaction mode would swallow notifications. */
  url: string
  channels: readonly string[]
  applicationName: string
  /** How long connecting, listening and each probe may take. */
  deadlineMs: number
  /** How often to ask whether the connection still lives. */
  probeEveryMs: number
  onPayload: (payload: string) => void
  /** It listens again after a gap: notifications may have been missed. */
  onConnected: () => void
  /** It could not listen and will try again. Not called when a connection merely ends. */
  onTrouble?: ((error: unknown) => void) | undefined
}

/**
 * One LISTEN connection that is kept alive. A half-open connection receives nothing and reports no error, so it is
 * probed. After any failure it is reset and made anew, after a growing, random wait. Nothing depends on it: polling
 * finds what a lost notification would have told.
 */
export class Subscription {
  readonly #config: SubscriptionConfig
  readonly #stop = new AbortController()
  #client: ResettableClient | undefined
  #loop: Promise<void> | undefined
  #turningSince: number | undefined

  constructor(config: SubscriptionConfig) {
    this.#config = config
  }

  /** Since when it has been connecting, or probing; undefined between probes. */
  get since(): number | undefined {
    return this.#turningSince
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
        // Nothing depends on it: polling goes on meanwhile.
      }
      await pause(waitAfterMs(failures), undefined, { signal }).catch(() => undefined)
    }
  }

  async #listen(onSuccess: () => void): Promise<void> {
    const { url, applicationName, deadlineMs, probeEveryMs, onPayload, onConnected } = this.#config
    // Aborted with the connection: the wait for the next probe must not outlive it.
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
      this.#turningSince = performance.now()
      await this.#begin(client)
      onSuccess()
      onConnected()
      while (!signal.aborted) {
        this.#turningSince = undefined
        await Promise.race([pause(probeEveryMs, undefined, { signal, ref: false }), ended])
        this.#turningSince = performance.now()
        await within(deadlineMs, client.query('select 1'))
      }
    } finally {
      this.#turningSince = undefined
      over.abort()
      client.reset()
    }
  }

  async #begin(client: ResettableClient): Promise<void> {
    const { channels, deadlineMs, onTrouble } = this.#config
    try {
      await client.connect()
      const listen = channels.map((channel) => `listen "${channel}"`).join(';')
      await within(deadlineMs, client.query(listen))
    } catch (error) {
      if (!this.#stop.signal.aborted) onTrouble?.(error)
      throw error
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
