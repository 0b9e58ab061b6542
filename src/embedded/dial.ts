import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { KeeperAddress } from './claim.ts'
import { hasCode } from './errno.ts'
import { linesOf, type KeeperMessage } from './messages.ts'
import { isKeeper } from './processes.ts'

/** Long enough for a busy machine; when it is over, the pid decides. */
const answerMs = 500
const againMs = 20

/** A connection that a keeper has accepted. As long as it is open, its server stays up. */
export interface KeeperLink {
  socket: Socket
  /** The next message; undefined when the connection is closed. */
  next(): Promise<KeeperMessage | undefined>
}

/**
 * Connects to a keeper; undefined when it is dead, which is final. It is dead if no process listens on its port, or
 * another program does. A program that accepts but sends nothing, or hangs up, may be an unrelated one, a keeper about
 * to end or one on an overloaded machine: while its pid is that of a keeper, we try again.
 */
export async function dialKeeper(address: KeeperAddress, deadline: number): Promise<KeeperLink | undefined> {
  for (;;) {
    const result = await dialOnce(address)
    if (result === 'dead') return undefined
    if (result !== 'unclear') return result
    if (!(await isKeeper(address.pid))) return undefined
    if (Date.now() > deadline) throw new Error(`The keeper (pid ${address.pid}) does not answer`)
    await pause(againMs)
  }
}

async function dialOnce({ port, token, answer }: KeeperAddress): Promise<KeeperLink | 'dead' | 'unclear'> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  // Every failure also ends the lines; this listener only keeps it from ending the process.
  socket.on('error', () => undefined)
  try {
    await once(socket, 'connect')
  } catch (error) {
    return hasCode(error, 'ECONNREFUSED') ? 'dead' : 'unclear'
  }
  const silence = setTimeout(() => socket.destroy(), answerMs)
  socket.write(`${token}\n`)
  const lines = linesOf(socket)
  const first = await lines.next()
  clearTimeout(silence)
  if (first.value === answer) return { socket, next: async () => parse((await lines.next()).value) }
  socket.destroy()
  return first.done === true ? 'unclear' : 'dead'
}

function parse(line: string | undefined): KeeperMessage | undefined {
  return line === undefined ? undefined : (JSON.parse(line) as KeeperMessage)
}
