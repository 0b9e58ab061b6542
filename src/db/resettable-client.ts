import type { Socket } from 'node:net'
import pg from 'pg'

/**
 * A driver's client that can be given up for good.
 *
 * Closing a socket is not enough: the kernel goes on delivering what was written to it, so an INSERT that we gave up
 * on would still run once the network heals. A reset drops those bytes. It has to reach the raw socket, which the
 * driver replaces when TLS begins; so it is kept from the start.
 */
export class ResettableClient extends pg.Client {
  /** On the clock of performance.now(). */
  readonly madeAt = performance.now()
  readonly #socket: Socket
  #lostBy: Error | undefined

  constructor(config?: string | pg.ClientConfig) {
    super(config)
    // A connection that breaks fails the call that is on it; the driver also emits it as an event, which without a
    // listener would end the process. The pool listens only while a client is idle.
    this.on('error', (error) => {
      this.#lostBy ??= error
    })
    this.#socket = (this as unknown as { connection: { stream: Socket } }).connection.stream
  }

  /** Why it broke, where it did with nothing under way. */
  get lostBy(): Error | undefined {
    return this.#lostBy
  }

  /** The server's process as the handshake named it; behind a pooler that is nobody's. */
  get serverPid(): number | null {
    return (this as unknown as { processID: number | null }).processID
  }

  reset(): void {
    this.#socket.resetAndDestroy()
  }
}
