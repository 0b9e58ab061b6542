import { createServer, connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Where to cut the connection of the client whose statement contains `text`, or one of several texts. */
export interface Cut {
  text: string | readonly string[]
  /** `before`: the server never receives the statement. `after`: the server executes it, and its reply is lost. */
  when: 'before' | 'after'
}

export interface FaultProxy {
  url: string
  /** Arms one cut, and resolves once it has happened. */
  cutNext(cut: Cut): Promise<void>
  /** Cuts every connection that sends `text`, before the server receives it; returns the function that ends this. */
  cutEvery(text: string | readonly string[]): () => void
  /** Resolves once this many frames that contain `text` have passed from now on. */
  saw(text: string | readonly string[], times: number): Promise<void>
  /** How many statements of any sort have passed so far. */
  readonly statements: number
  /** Holds the next statement that contains `text`, and all that follows on its connection; returns the function that lets it pass. */
  holdNext(text: string | readonly string[]): Promise<() => void>
  /** Holds the answer to the next statement that contains `text`, and all after it; returns the function that lets it pass. */
  holdAnswers(text: string | readonly string[]): Promise<() => void>
  /**
   * Stops forwarding in both directions, on old and new connections, and closes none: a network that drops everything.
   * Returns the function that heals it, which resolves when the connections caught in it have ended on both sides.
   */
  blackhole(): () => Promise<void>
  /** Stops forwarding on the existing connections, for good, and closes none: they are half-open. New connections work. */
  swallow(): void
  /** Accepts new connections and forwards nothing on them; returns the function that lets them in. */
  holdNew(): () => void
}

/** One client and its connection to the server. */
interface Pair {
  client: Socket
  upstream: Socket
  ended: Promise<unknown>
}

/**
 * A proxy that knows enough of the Postgres protocol to place a fault at a statement and not at a time: it reads the
 * frames of the client, and resets the connection at a statement, as a dying network would.
 */
export async function startFaultProxy(targetUrl: string): Promise<FaultProxy> {
  const target = new URL(targetUrl)
  const pairs = new Set<Pair>()
  const watched = new Set<{ text: string | readonly string[]; left: number; seen: () => void }>()
  let armed: (Cut & { happened: () => void }) | undefined
  let toHold: { text: string | readonly string[]; happened: (letPass: () => void) => void } | undefined
  let toMute: typeof toHold
  let neverPasses: string | readonly string[] = []
  let statements = 0
  let isBlack = false
  let isHeld = false

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const socket of [client, upstream]) {
      socket.on('error', () => undefined)
      // Frames are forwarded one by one: without this, each statement waits for a delayed acknowledgement.
      socket.setNoDelay(true)
    }
    const ended = Promise.all([client, upstream].map(closed))
    const pair = { client, upstream, ended }
    pairs.add(pair)
    void ended.then(() => pairs.delete(pair))
    let cut: typeof armed
    const cutNow = (): void => {
      client.resetAndDestroy()
      upstream.destroy()
      cut?.happened()
    }
    const frames = new Frames()
    let kept: Buffer[] | undefined
    let unheard: Buffer[] | undefined
    const letPass = (): void => {
      for (const frame of kept ?? []) upstream.write(frame)
      kept = undefined
    }
    client.on('data', (chunk) => {
      for (const frame of frames.push(chunk)) {
        for (const one of watched) {
          if (!holds(frame, one.text) || --one.left > 0) continue
          watched.delete(one)
          one.seen()
        }
        if (toHold !== undefined && holds(frame, toHold.text)) {
          kept = []
          toHold.happened(letPass)
          toHold = undefined
        }
        if (toMute !== undefined && holds(frame, toMute.text)) {
          unheard = []
          toMute.happened(() => {
            for (const answer of unheard ?? []) client.write(answer)
            unheard = undefined
          })
          toMute = undefined
        }
        if (execute.has(frame[0])) statements++
        if (kept !== undefined) {
          kept.push(frame)
          continue
        }
        if (armed !== undefined && holds(frame, armed.text)) {
          cut = armed
          armed = undefined
        }
        if (cut?.when === 'before' || holds(frame, neverPasses)) {
          cutNow()
          return
        }
        upstream.write(frame)
      }
    })
    let reply = Buffer.alloc(0)
    upstream.on('data', (chunk) => {
      if (unheard !== undefined) {
        unheard.push(chunk)
        return
      }
      if (cut?.when !== 'after') {
        client.write(chunk)
        return
      }
      // ReadyForQuery ends the reply: by then an autocommitted statement is committed. None of the reply is forwarded. It may
      // come in pieces.
      reply = Buffer.concat([reply, chunk])
      const end = reply.indexOf(readyForQuery)
      if (end === -1) return
      // Statements that were sent right after it may have been answered too.
      const first = reply.subarray(0, end)
      if (!notPrepared.some((code) => first.includes(code))) {
        cutNow()
        return
      }
      // Behind a pooler a statement name may be unknown or taken: nothing was executed, and the client sends it again, whole.
      client.write(reply)
      reply = Buffer.alloc(0)
      armed = cut
      cut = undefined
    })
    // As in a network: bytes sent before a proper close arrive, bytes sent before a reset may not.
    client.on('close', (hadError) => (hadError ? upstream.destroy() : upstream.end()))
    upstream.on('close', () => client.destroy())
    if (isBlack || isHeld) stop(pair)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const { client, upstream } of pairs) {
      client.destroy()
      upstream.destroy()
    }
    server.close()
  })

  const url = new URL(targetUrl)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    get statements() {
      return statements
    },
    cutNext: (cut) =>
      new Promise((resolve) => {
        armed = { ...cut, happened: resolve }
      }),
    cutEvery: (text) => {
      neverPasses = text
      return () => {
        neverPasses = []
      }
    },
    holdNext: (text) =>
      new Promise((resolve) => {
        toHold = { text, happened: resolve }
      }),
    holdAnswers: (text) =>
      new Promise((resolve) => {
        toMute = { text, happened: resolve }
      }),
    saw: (text, times) =>
      new Promise((resolve) => {
        watched.add({ text, left: times, seen: resolve })
      }),
    blackhole: () => {
      isBlack = true
      for (const pair of pairs) stop(pair)
      return async () => {
        isBlack = false
        const caught = [...pairs]
        for (const pair of caught) resume(pair)
        await Promise.all(caught.map(({ ended }) => ended))
      }
    },
    swallow: () => {
      for (const pair of pairs) stop(pair)
    },
    holdNew: () => {
      isHeld = true
      const before = new Set(pairs)
      return () => {
        isHeld = false
        for (const pair of pairs) if (!before.has(pair)) resume(pair)
      }
    },
  }
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) =>
    socket.once('close', () => {
      resolve()
    }),
  )
}

/** Stops reading: bytes that have arrived stay in the kernel, and further bytes stay with the sender. */
function stop({ client, upstream }: Pair): void {
  client.pause()
  upstream.pause()
}

function resume({ client, upstream }: Pair): void {
  client.resume()
  upstream.resume()
}

/** Whether a frame contains one of these texts. */
function holds(frame: Buffer, text: string | readonly string[]): boolean {
  return [text].flat().some((one) => frame.includes(one))
}

/** The error messages for a prepared statement that does not exist, or exists already. */
const notPrepared = ['C26000\0', 'C42P05\0']

/** ReadyForQuery, inside or outside of a transaction. */
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5])

/** The frames that make the server execute something: Execute and Query. */
const execute = new Set<number | undefined>([0x45, 0x51])

/** Splits the byte stream of a client into protocol frames. The first message of a connection has no type byte. */
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
