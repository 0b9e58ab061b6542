import type { Socket } from 'node:net'
import type { ErrorCode } from '../core/errors.ts'

/** The configuration of a keeper; the process that starts it passes this as its one argument. */
export interface KeeperConfig {
  /** The real path of the server's folder. */
  dir: string
  /** The `native` folder of the platform's npm package. */
  native: string
  /** Version of that package: names copies of its binaries. */
  version: string
  fsync: 'on' | 'off'
  settings: Record<string, string>
  idleMs: number
}

/** What a new keeper reports to the process that started it: that it is the keeper now, or that another one is. */
export type ElectionResult = 'elected' | 'beaten'

export interface ReadyMessage {
  type: 'ready'
  url: string
  port: number
  pid: number
  /** Whether the server already ran when its keeper came. */
  adopted: boolean
}

/** What a keeper sends to its holders, one JSON per line. A socket that closes without a message: it died. */
export type KeeperMessage =
  | ReadyMessage
  | { type: 'failed'; code: ErrorCode; message: string }
  /** The server is going down: wait until this connection closes, then start it again. */
  | { type: 'stopping' }
  /** The answer to a release; to the last holder it comes when the server is down. */
  | { type: 'released' }

/** The only message of a holder after its token. */
export const releaseRequest = 'release'

/** The lines that arrive, until the other side closes or resets the connection. */
export async function* linesOf(socket: Socket): AsyncGenerator<string, undefined> {
  let rest = ''
  try {
    for await (const chunk of socket.setEncoding('utf8') as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
  } catch {
    // A reset counts as a close: how the other process ended does not matter here.
  }
  return undefined
}
