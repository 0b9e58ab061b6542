import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Console } from '../console.ts'
import { nodeListener } from './node-listener.ts'

const maxConnections = 1_000
/**
 * Limits of unfinished connections: new ones, idle ones, and those whose request has not arrived completely. One address
 * may have as many as the console answers requests at once, because behind a proxy all clients share one address. The
 * limit for all addresses leaves room for connections whose request is being answered.
 */
const mostUnfinished = { each: 256, all: 768 }

/** The server of `stint console`. A client that sends its headers or body too slowly is disconnected. */
export function standaloneServer(served: Pick<Console, 'fetch'>): Server {
  const server = createServer({
    headersTimeout: 5_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 5_000,
    // How often the first two timeouts are checked; by default every 30 seconds.
    connectionsCheckingInterval: 1_000,
  })
  server.maxConnections = maxConnections
  limitUnfinished(server)
  server.on('request', nodeListener(served))
  return server
}

/**
 * Closes the oldest unfinished connection when there are too many. A client that opens a thousand connections and sends
 * half a request on each loses them, while a request that is sent at once, such as a health probe, is answered. Refusing
 * new connections instead would shut out other clients with the same address.
 */
function limitUnfinished(server: Server): void {
  // Sets keep insertion order: the first has waited longest.
  const unfinished = new Set<Socket>()
  const byAddress = new Map<string, Set<Socket>>()

  const remove = (socket: Socket, address: string): void => {
    unfinished.delete(socket)
    const sameAddress = byAddress.get(address)
    sameAddress?.delete(socket)
    if (sameAddress?.size === 0) byAddress.delete(address)
  }
  const add = (socket: Socket, address: string): void => {
    if (socket.destroyed) return
    const sameAddress = byAddress.get(address) ?? new Set<Socket>()
    byAddress.set(address, sameAddress.add(socket))
    unfinished.add(socket)
    const { each, all } = mostUnfinished
    const [oldest] = sameAddress.size > each ? sameAddress : unfinished.size > all ? unfinished : []
    oldest?.destroy()
  }

  server.on('connection', (socket: Socket) => {
    // Read now: a closed socket no longer has it.
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
