/*
 * The keeper: a process of its own that owns one server and ends with it. See start.ts for the whole picture.
 *
 *   beaten                                      another keeper lives: end at once, untouched
 *   starting ──▶ ready ──▶ stopping ──▶ end     the last holder released, no holder came for idleMs, or SIGTERM
 *       │          └─────▶ end                  the server died; holders notice, and the next keeper starts it
 *       └──▶ failed ──▶ end                     holders get the reason
 *
 * It listens from before its election until its process ends, since silence on its port means that it is
 * dead. A process that connects while the server goes down gets `stopping` and waits for the connection to close.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { isStintError } from '../core/errors.ts'
import { messageOf } from '../core/failures/thrown.ts'
import { claimFolder, type KeeperAddress } from './claim.ts'
import { dialKeeper } from './dial.ts'
import { initialise, readPassword } from './initialise.ts'
import {
  linesOf,
  releaseRequest,
  type ElectionResult,
  type KeeperConfig,
  type KeeperMessage,
} from './messages.ts'
import { chooseLayout } from './layout.ts'
import { rotateLog } from './program.ts'
import { startServer, stopServer } from './server.ts'

const electionMs = 30_000
/** A client that has not sent the token by then is not one of ours. */
const tokenMs = 10_000
const failedMs = 3_000

class Keeper {
  readonly #config: KeeperConfig
  readonly #holders = new Set<Socket>()
  /** The message that a new holder gets at once; none while the server starts. */
  #greeting: KeeperMessage | undefined
  #stop: (() => Promise<void>) | undefined
  #idle: NodeJS.Timeout | undefined

  constructor(config: KeeperConfig) {
    this.#config = config
  }

  async run(): Promise<void> {
    const { dir } = this.#config
    const address = await this.#listen()
    const isElected = await claimFolder(dir, address, isDeadKeeper)
    await report(isElected ? 'elected' : 'beaten')
    if (!isElected) process.exit()
    try {
      await this.#start()
    } catch (error) {
      this.#tell(failure(error))
      // The process that spawned us may not have connected yet, and has to get this message.
      setTimeout(() => void this.#end(), failedMs)
    }
  }

  async #listen(): Promise<KeeperAddress> {
    const token = randomBytes(24).toString('base64url')
    const answer = randomBytes(24).toString('base64url')
    const listener = createServer({ noDelay: true }, (socket) => void this.#serve(socket, token, answer))
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    return { pid: process.pid, port: (listener.address() as AddressInfo).port, token, answer }
  }

  async #start(): Promise<void> {
    const config = this.#config
    const log = join(config.dir, 'postgres.log')
    rotateLog(log)
    const layout = await chooseLayout(config)
    await initialise({ layout, log, sync: config.fsync === 'on' })
    const server = await startServer({ config, layout, log })
    const url = `postgres://app:${await readPassword(layout)}@127.0.0.1:${server.port}/app`
    void server.ended.then(() => {
      if (this.#greeting?.type !== 'stopping') return this.#end()
    })
    this.#stop = () => stopServer(server, { config, layout, log })
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => void this.#shutDown())
    this.#tell({ type: 'ready', url, port: server.port, pid: server.pid, adopted: server.adopted })
    this.#watchIdle()
  }

  async #serve(socket: Socket, token: string, answer: string): Promise<void> {
    socket.on('error', () => undefined)
    const silence = setTimeout(() => socket.destroy(), tokenMs)
    const lines = linesOf(socket)
    const first = await lines.next()
    clearTimeout(silence)
    if (first.value !== token) {
      socket.destroy()
      return
    }
    this.#holders.add(socket)
    this.#watchIdle()
    socket.write(`${answer}\n`)
    if (this.#greeting) send(socket, this.#greeting)
    for await (const line of lines) {
      if (line === releaseRequest) await this.#release(socket)
    }
    this.#holders.delete(socket)
    if (this.#greeting?.type === 'failed' && this.#holders.size === 0) await this.#end()
    this.#watchIdle()
  }

  async #release(socket: Socket): Promise<void> {
    const isLast = this.#holders.size === 1
    if (isLast && this.#greeting?.type === 'ready') return this.#shutDown(socket)
    // Now, and not when the connection has closed: the next holder that releases may be the last.
    this.#holders.delete(socket)
    send(socket, { type: 'released' })
    socket.end()
  }

  #watchIdle(): void {
    clearTimeout(this.#idle)
    if (this.#holders.size > 0 || this.#greeting?.type !== 'ready') return
    this.#idle = setTimeout(() => void this.#shutDown(), this.#config.idleMs)
  }

  #tell(message: KeeperMessage): void {
    this.#greeting = message
    for (const holder of this.#holders) send(holder, message)
  }

  async #shutDown(last?: Socket): Promise<void> {
    if (this.#greeting?.type !== 'ready') return
    this.#tell({ type: 'stopping' })
    await this.#stop?.()
    if (last) send(last, { type: 'released' })
    await this.#end()
  }

  async #end(): Promise<void> {
    await Promise.all([...this.#holders].map((holder) => new Promise<void>((resolve) => holder.end(resolve))))
    process.exit()
  }
}

async function isDeadKeeper(address: KeeperAddress): Promise<boolean> {
  const link = await dialKeeper(address, Date.now() + electionMs)
  link?.socket.destroy()
  return link === undefined
}

/** To the process that spawned us, if it still lives. */
async function report(result: ElectionResult): Promise<void> {
  await new Promise<void>((resolve) => {
    if (!process.send) resolve()
    else
      process.send(result, undefined, undefined, () => {
        resolve()
      })
  })
  if (process.connected) process.disconnect()
}

function failure(error: unknown): KeeperMessage {
  if (isStintError(error)) return { type: 'failed', code: error.code, message: error.message }
  const message = `The embedded PostgreSQL did not start: ${messageOf(error)}`
  return { type: 'failed', code: 'embedded-failed', message }
}

function send(socket: Socket, message: KeeperMessage): void {
  socket.write(`${JSON.stringify(message)}\n`)
}

await new Keeper(JSON.parse(process.argv[2] ?? '') as KeeperConfig).run()
