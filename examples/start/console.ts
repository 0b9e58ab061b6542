// The console of the example: the HTTP API and the dashboard, for browsers on this machine. In an app of your own you
// mount it in your server, with your own sign-in; `stint console` runs it by itself.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createConsole, nodeListener } from 'stint/server'
import * as contracts from './contracts.ts'

const opened = createConsole({ contracts, environment: 'example', oneTimeLink: true })
const server = createServer(nodeListener(opened))
const port = Number(process.env['STINT_EXAMPLE_PORT'] ?? 7766)
try {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
} catch {
  // Another process uses the port: any other port will do.
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
}
opened.executeOperations()

/** Sends the address of the dashboard, with the sign-in link until a browser has used it. */
function tell(): void {
  const { port: own } = server.address() as AddressInfo
  process.send?.({ dashboard: `http://127.0.0.1:${own}${opened.link ?? '/'}` })
}
tell()
const telling = setInterval(tell, 1_000)

process.once('SIGTERM', () => {
  clearInterval(telling)
  server.close(() => {
    void opened.close().then(() => {
      process.disconnect()
    })
  })
  // Event streams do not end by themselves.
  server.closeAllConnections()
})
