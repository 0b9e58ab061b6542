import { createServer, connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Where to cut the connection of the client whose statement contains `text`, or one of several. */
export interface Cut {
  text: string | readonly string[]
  /** `before`: the server never sees the statement. `after`: it runs, and its reply is lost. */
  when: 'before' | 'after'
}

export interface FaultProxy {
  url: string
  /** Arms one cut, and resolves once it has happened. */
  cutNext(cut: Cut): Promise<void>
}

/**
 * A proxy that knows enough of the Postgres protocol to place a fault by what is said and not by time: it reads the
 * client's frames, and cuts the connection (by reset, as a dying network would) at a statement.
 */
export async function startFaultProxy(targetUrl: string): Promise<FaultProxy> {
  const target = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let armed: (Cut & { happened: () => void }) | undefined

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => sockets.delete(socket))
    }
    let cut: typeof armed
    const cutNow = (): void => {
      client.resetAndDestroy()
      upstream.destroy()
      cut?.happened()
    }
    const frames = new Frames()
    client.on('data', (chunk) => {
      for (const frame of frames.push(chunk)) {
        if (armed !== undefined && [armed.text].flat().some((text) => frame.includes(text))) {
          cut = armed
          armed = undefined
        }
        if (cut?.when === 'before') {
          cutNow()
          return
        }
        upstream.write(frame)
      }
    })
    upstream.on('data', (chunk) => {
      // ReadyForQuery ends the reply: by then an autocommitted statement is committed. None of the reply passes.
      if (cut?.when !== 'after') client.write(chunk)
      else if (chunk.includes(readyForQuery)) cutNow()
    })
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  const url = new URL(targetUrl)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    cutNext: (cut) =>
      new Promise((resolve) => {
        armed = { ...cut, happened: resolve }
      }),
  }
}

/** ReadyForQuery, inside of a transaction or out of it. */
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5])

/** Cuts a client's byte stream into protocol frames. The first message of a connection has no type byte. */
class Frames {
  #rest = Buffer.alloc(0)
  #hasStarted = false

  push(chunk: Buffer): Buffer[] {
    this.#rest = Buffer.concat([this.#rest, chunk])
    const frames: Buffer[] = []
    for (;;) {
      const header = this.#hasStarted ? 1 : 0
      if (this.#rest.length < header + 4) return frames
      const length = header + this.#rest.readInt32BE(header)
      if (this.#rest.length < length) return frames
      frames.push(this.#rest.subarray(0, length))
      this.#rest = this.#rest.subarray(length)
      this.#hasStarted = true
    }
  }
}
