import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Why a worker is unhealthy; empty if it is healthy. */
export type Verdicts = readonly string[]

/**
 * /healthz: can it claim and renew? A supervisor restarts a worker that cannot. /readyz: the same, and it is not
 * stopping. Both say why not.
 */
export class HealthServer {
  readonly #server: Server

  /** `facts` are part of every answer. */
  constructor(probes: { healthz: () => Verdicts; readyz: () => Verdicts; facts?: () => object }) {
    this.#server = createServer((request, response) => {
      const path = (request.url ?? '').split('?')[0]
      const probe = path === '/healthz' ? probes.healthz : path === '/readyz' ? probes.readyz : undefined
      const problems = probe?.()
      const status = problems === undefined ? 404 : problems.length === 0 ? 200 : 503
      response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
      const answer = { ok: status === 200, ...probes.facts?.(), problems: problems ?? ['unknown path'] }
      response.end(`${JSON.stringify(answer)}\n`)
    })
    this.#server.unref()
  }

  /** Resolves with the port it listens on. */
  async listen({ port, host }: { port: number; host: string }): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, resolve)
    })
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve()
      })
      this.#server.closeAllConnections()
    })
  }
}
