import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { join, parse } from 'node:path'
import { StintError } from '../core/errors.ts'
import { builtFile } from '../node/built-file.ts'
import { newestClaim } from './claim.ts'
import { dialKeeper, type KeeperLink } from './dial.ts'
import { releaseRequest, type ElectionResult, type KeeperConfig, type ReadyMessage } from './messages.ts'
import { findNative } from './native.ts'
import { failedWithLog, logSize, plainEnvironment } from './program.ts'

/** Longer than a keeper waits for the server, so that the keeper's reason is the one that is reported. */
const joinMs = 180_000
/** A keeper that ends without a message was killed; if that happens again and again, it is broken. */
const toleratedDeaths = 10

export type HoldOptions = Omit<KeeperConfig, 'native' | 'version'>

/** This process's hold on a server, which runs at least until the hold is released or the process ends. */
export class Hold {
  readonly server: ReadyMessage
  /** Whether the server ran already, or another process was starting it. */
  readonly joined: boolean
  readonly #options: HoldOptions
  readonly #life: Promise<void>
  #link: KeeperLink
  #isReleased = false

  static async take(options: HoldOptions): Promise<Hold> {
    return new Hold(options, await joinServer(options))
  }

  private constructor(options: HoldOptions, { link, server, joined }: Joined) {
    this.#options = options
    this.#link = link
    this.server = server
    this.joined = joined
    this.#life = this.#live()
  }

  /** Resolves at once if other processes hold the server, else when it is down. */
  async release(): Promise<void> {
    this.#isReleased = true
    askRelease(this.#link)
    await this.#life
  }

  async #live(): Promise<void> {
    this.#link.socket.unref()
    while (!(await isReleasedAtEnd(this.#link))) {
      // The keeper died. Its server may run on and would never be stopped, so there has to be a new keeper, even
      // if only to stop the server. If the folder is gone, the server is not needed any more.
      if (!existsSync(this.#options.dir)) return
      try {
        this.#link = (await joinServer(this.#options)).link
      } catch {
        // The next startEmbedded() reports why.
        return
      }
      if (this.#isReleased) askRelease(this.#link)
      else this.#link.socket.unref()
    }
  }
}

function askRelease({ socket }: KeeperLink): void {
  socket.ref()
  socket.write(`${releaseRequest}\n`)
}

/** Waits for the end of the connection. */
async function isReleasedAtEnd(link: KeeperLink): Promise<boolean> {
  let isReleased = false
  for (;;) {
    const message = await link.next()
    if (!message) return isReleased
    if (message.type === 'released') isReleased = true
  }
}

interface Joined {
  link: KeeperLink
  server: ReadyMessage
  joined: boolean
}

/** Connects to the keeper, after starting one if none lives, and waits until its server is ready. */
async function joinServer(options: HoldOptions): Promise<Joined> {
  const deadline = Date.now() + joinMs
  let election: ElectionResult = 'beaten'
  let deaths = 0
  while (Date.now() < deadline && deaths <= toleratedDeaths) {
    const { address } = await newestClaim(options.dir)
    const link = address && (await dialKeeper(address, deadline))
    if (!link) {
      election = await spawnKeeper(options)
      continue
    }
    const message = await nextWithin(link, deadline - Date.now())
    switch (message?.type) {
      case 'ready':
        return { link, server: message, joined: election === 'beaten' || message.adopted }
      case 'failed':
        link.socket.destroy()
        throw new StintError(message.code, message.message)
      case 'stopping':
        await isReleasedAtEnd(link)
        break
      case 'released':
      case undefined:
        deaths += 1
        break
      default:
        message satisfies never
    }
    election = 'beaten'
  }
  const log = keeperLog(options.dir)
  throw failedWithLog('its keeper does not answer, or ends again and again', { log, from: 0 })
}

async function nextWithin(link: KeeperLink, ms: number): ReturnType<KeeperLink['next']> {
  const timeout = setTimeout(() => link.socket.destroy(), ms)
  try {
    return await link.next()
  } finally {
    clearTimeout(timeout)
  }
}

/** Starts a keeper apart from this process, and waits until it is the keeper or knows of another one. */
async function spawnKeeper(options: HoldOptions): Promise<ElectionResult> {
  const config: KeeperConfig = { ...options, ...findNative() }
  const entry = builtFile('embedded/keeper')
  const log = keeperLog(options.dir)
  const from = logSize(log)
  const output = openSync(log, 'a', 0o600)
  const child = spawn(process.execPath, [entry, JSON.stringify(config)], {
    cwd: parse(options.dir).root,
    env: plainEnvironment(),
    detached: true,
    windowsHide: true,
    stdio: ['ignore', output, output, 'ipc'],
  })
  closeSync(output)
  child.unref()
  const ending = new AbortController()
  const { signal } = ending
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([result]) => result as ElectionResult),
      once(child, 'exit', { signal }).then(([code]) => {
        throw failedWithLog(`its keeper ended with ${String(code)}`, { log, from })
      }),
    ])
  } finally {
    ending.abort()
  }
}

function keeperLog(dir: string): string {
  return join(dir, 'keeper.log')
}
