import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { bodyConsumed } from './body.ts'
import type { Console } from '../console.ts'
import { frameWith, refusal } from './headers.ts'

/** A request listener for `node:http` and frameworks built on it: Express, Fastify, Connect, Koa. */
export function nodeListener(
  served: Pick<Console, 'fetch'>,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  const listener = getRequestListener(
    (request, { incoming }) =>
      isConsumed(incoming as IncomingMessage)
        ? Promise.resolve(consumed(request))
        : served.fetch(request, { address: (incoming as IncomingMessage).socket.remoteAddress }),
    // Do not replace the host's global Request and Response.
    { overrideGlobalObjects: false },
  )
  return (incoming, outgoing) => {
    // Express removes the mount path from `url` and keeps the whole URL here.
    const { originalUrl } = incoming as { originalUrl?: unknown }
    if (typeof originalUrl === 'string') incoming.url = originalUrl
    void listener(incoming, outgoing)
  }
}

/** Whether a body parser has already read the body, so that nothing is left to read. */
function isConsumed(incoming: IncomingMessage): boolean {
  const { headers } = incoming
  const hasBody = Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined
  return hasBody && (incoming.readableDidRead || incoming.readableEnded)
}

/** This answer never needs to be shown in a frame, even if the console may be. */
const frame = frameWith({ frameAncestors: "'none'" })

function consumed(request: Request): Response {
  return refusal(bodyConsumed(), { request, instance: new URL(request.url).pathname, frame })
}
