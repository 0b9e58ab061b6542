import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { bodyConsumed } from './body.ts'
import type { Console } from '../console.ts'
import { frameWith, refusal } from './headers.ts'

/** The console for `node:http` and what is built on it: Express, Fastify, Connect, Koa. */
export function nodeListener(
  served: Pick<Console, 'fetch'>,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  const listener = getRequestListener(
    (request, { incoming }) =>
      isConsumed(incoming as IncomingMessage)
        ? Promise.resolve(consumed(request))
        : served.fetch(request, { address: (incoming as IncomingMessage).socket.remoteAddress }),
    // The host's Request and Response are left as they are.
    { overrideGlobalObjects: false },
  )
  return (incoming, outgoing) => {
    // Express takes the mount path away from `url` and keeps the whole here.
    const { originalUrl } = incoming as { originalUrl?: unknown }
    if (typeof originalUrl === 'string') incoming.url = originalUrl
    void listener(incoming, outgoing)
  }
}

/** Whether a body parser in front of us has it already; there would be nothing left to read. */
function isConsumed(incoming: IncomingMessage): boolean {
  const { headers } = incoming
  const hasBody = Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined
  return hasBody && (incoming.readableDidRead || incoming.readableEnded)
}

/** Whoever may frame the console, nobody has to frame this. */
const frame = frameWith({ frameAncestors: "'none'" })

function consumed(request: Request): Response {
  return refusal(bodyConsumed(), { request, instance: new URL(request.url).pathname, frame })
}
