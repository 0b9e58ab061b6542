import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Console } from '../console.ts'
import { nodeListener } from './node-listener.ts'

const maxConnections = 1_000
/**
 * Connections on which no whole request is being answered: new ones, idle ones, and those whose request is half sent. One
 * address may have as many as the console answers requests at once, since behind a proxy that is everybody. All together
 * leave room for those that are answered.
 */
const mostUnfinished = { each: 256, all: 768 }

/** The server of `stint console`. A client that dawdles with its headers or body gives its place up. */
export function standaloneServer(served: Pick<Console, 'fetch'>): Server {
  const server = createServer({
    headersTimeout: 5_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 5_000,
    // How often the first two are looked at; by default every 30 seconds.
    connectionsCheckingInterval: 1_000,
  })
  server.maxConnections = maxConnections
  limitUnfinished(server)
  server.on('request', nodeListener(served))
  return server
}

/**
 * Closes the oldest unfinished connection where there are too many. A client that opens a thousand connections and sends
 * half a request on each loses them again, and a request that is sent at once, such as a health probe, is let in. To refuse
 * new connections instead would shut out others of the same address.
 */
function limitUnfinished(server: Server): void {
  // Sets keep their order: the first is the one that has waited longest.
  const unfinished = new Set<Socket>()
  const byAddress = new Map<string, Set<Socket>>()

  const remove = (socket: Socket, address: string): void => {
    unfinished.delete(socket)
    const alike = byAddress.get(address)
    alike?.delete(socket)
    if (alike?.size === 0) byAddress.delete(address)
  }
  const add = (socket: Socket, address: string): void => {
    if (socket.destroyed) return
    const alike = byAddress.get(address) ?? new Set<Socket>()
    byAddress.set(address, alike.add(socket))
    unfinished.add(socket)
    const { each, all } = mostUnfinished
    const [oldest] = alike.size > each ? alike : unfinished.size > all ? unfinished : []
    oldest?.destroy()
  }

  server.on('connection', (socket: Socket) => {
    // Kept here: a socket that is closed has forgotten it.
    const address = socket.remoteAddress ?? ''
    const done = (): void => {
      remove(socket, address)
    }
    socket.once('close', done)
    add(socket, address)
  })
  server.on('request', (incoming, outgoing) => {
    const { socket, headers } = incoming
    const address = socket.remoteAddress ?? ''
    const finished = (): void => {
      remove(socket, address)
    }
    const hasBody = Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined
    if (hasBody) incoming.once('end', finished)
    else finished()
    outgoing.once('close', () => {
      finished()
      add(socket, address)
    })
  })
}
