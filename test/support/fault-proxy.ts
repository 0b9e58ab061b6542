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
  /** Cuts every connection that says `text`, before the server sees it; gives the way to let it pass again. */
  cutEvery(text: string | readonly string[]): () => void
  /** Resolves once so many frames that contain `text` have come by, from now on. */
  saw(text: string | readonly string[], times: number): Promise<void>
  /** How many statements went through it so far, of any sort. */
  readonly statements: number
  /** Keeps the next statement that contains `text`, and all that follows on its connection; gives the way to let it pass. */
  holdNext(text: string | readonly string[]): Promise<() => void>
  /** Keeps what the server answers to the next statement that contains `text`, and all after it; gives the way to let it pass. */
  holdAnswers(text: string | readonly string[]): Promise<() => void>
  /**
   * Lets nothing pass any more, either way, on old connections and new ones, and closes none: a network that swallows
   * everything. Gives the way to heal it, which resolves when what was caught in it has ended on both sides.
   */
  blackhole(): () => Promise<void>
  /** Lets nothing pass any more on the connections there are, for good, and closes none: they are half-open. New ones pass. */
  swallow(): void
  /** Accepts new connections and lets nothing pass on them; gives the way to let them in. */
  holdNew(): () => void
}

/** One client and its connection to the server. */
interface Pair {
  client: Socket
  upstream: Socket
  ended: Promise<unknown>
}

/**
 * A proxy that knows enough of the Postgres protocol to place a fault by what is said and not by time: it reads the
 * client's frames, and cuts the connection (by reset, as a dying network would) at a statement.
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
      // Frames are passed on one by one: without this each statement waits for an acknowledgement that is delayed.
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
      // ReadyForQuery ends the reply: by then an autocommitted statement is committed. None of the reply passes. It may
      // come in pieces.
      reply = Buffer.concat([reply, chunk])
      const end = reply.indexOf(readyForQuery)
      if (end === -1) return
      // What was sent close behind it may have been answered too.
      const first = reply.subarray(0, end)
      if (!notPrepared.some((code) => first.includes(code))) {
        cutNow()
        return
      }
      // Behind a pooler a name may be unknown, or taken: nothing was done, and the statement comes again, whole.
      client.write(reply)
      reply = Buffer.alloc(0)
      armed = cut
      cut = undefined
    })
    // Like a network: what was sent before a proper close arrives, what was sent before a reset may not.
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

/** What has arrived stays with the kernel, and what more is sent stays with the sender. */
function stop({ client, upstream }: Pair): void {
  client.pause()
  upstream.pause()
}

function resume({ client, upstream }: Pair): void {
  client.resume()
  upstream.resume()
}

/** Whether a frame has one of these in it. */
function holds(frame: Buffer, text: string | readonly string[]): boolean {
  return [text].flat().some((one) => frame.includes(one))
}

/** What an error says of a prepared statement that is not there, or is there already. */
const notPrepared = ['C26000\0', 'C42P05\0']

/** ReadyForQuery, inside of a transaction or out of it. */
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5])

/** The frames that make the server do something: Execute, and Query. */
const execute = new Set<number | undefined>([0x45, 0x51])

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
