import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { once } from 'node:events'
import { peek } from '../../core/failures/thrown.ts'
import { loadFile } from '../../node/load-file.ts'
import { createConsole } from '../../server/console.ts'
import type { Console } from '../../server/console.ts'
import { isLoopback } from '../../server/http/known-host.ts'
import { standaloneServer } from '../../server/http/standalone.ts'
import {
  databaseHelp,
  databaseOptions,
  helpOption,
  noMore,
  parse,
  UsageError,
  wholeNumber,
} from '../arguments.ts'
import { databaseUrl } from '../connect.ts'
import { note, say } from '../output/output.ts'

const help = `stint console    serve the HTTP API and the dashboard, until SIGTERM or Ctrl-C

Closed by default. With STINT_TOKENS (stint token new) people sign in with a token, and programs send it. Without, it
answers this machine alone, and lets in one browser by a link that works once.

  --port PORT              default: 7766; 0 for any free port
  --host HOST              default: 127.0.0.1; any other address needs STINT_TOKENS
  --contracts FILE         a TypeScript or JavaScript file that exports contracts; inputs are checked against them
  --accept-unknown-kinds   also accept kinds without a contract if the request names a queue; their input is not checked
  --read-only              refuse every request that changes data
  --environment NAME       shown on every screen: production
  --base-path PATH         the path under which a proxy serves it: /admin/jobs
  --public-origin URL      the URL at which people reach it through a proxy: https://ops.example.com
  --insecure               no sign-in: every person who can connect has full access
${databaseHelp}

Examples
  stint console
  stint console --contracts src/contracts.ts --environment staging
  STINT_TOKENS="$(cat tokens)" stint console --host 0.0.0.0 --port 80 --public-origin https://ops.example.com`

const options = {
  port: { type: 'string', default: '7766' },
  host: { type: 'string', default: '127.0.0.1' },
  contracts: { type: 'string' },
  'accept-unknown-kinds': { type: 'boolean', default: false },
  'read-only': { type: 'boolean', default: false },
  environment: { type: 'string' },
  'base-path': { type: 'string' },
  'public-origin': { type: 'string' },
  insecure: { type: 'boolean', default: false },
  ...databaseOptions,
  ...helpOption,
} as const

export async function consoleCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, options)
  if (values.help) return say(help)
  noMore(positionals)
  const { host, insecure } = values
  const port = wholeNumber('--port', values.port)
  if (port > 65_535) throw new UsageError(`Expected --port to be at most 65535, got ${port}.`)
  const hasTokens = (process.env['STINT_TOKENS'] ?? '').trim() !== ''
  if (!isLoopback(host) && !hasTokens && !insecure) {
    throw new UsageError(
      `--host ${host} would expose a console without sign-in to the network. ` +
        'Set STINT_TOKENS (stint token new makes one), or pass --insecure to allow it.',
    )
  }
  const stopped = firstSignal()
  const opened = createConsole({
    connection: databaseUrl(values),
    schema: values.schema,
    contracts: values.contracts === undefined ? undefined : await contractsOf(values.contracts),
    acceptUnknownKinds: values['accept-unknown-kinds'],
    readOnly: values['read-only'],
    environment: values.environment,
    basePath: values['base-path'],
    publicOrigin: values['public-origin'],
    insecure,
    // With --insecure on a network address, the host names under which people reach it are not known.
    hosts: isLoopback(host) ? [] : 'any',
    // Only processes of this machine can connect, and only a reader of our output knows the link.
    oneTimeLink: isLoopback(host),
    onError: (error, { requestId }) => {
      note(`request ${requestId} failed: ${error instanceof Error ? (error.stack ?? '') : String(error)}`)
    },
  })
  try {
    const server = await listen(opened, host, port)
    announce(opened, server, { host, insecure })
    opened.executeOperations()
    await stopped
    await stop(server)
  } finally {
    await opened.close()
  }
  return 0
}

async function contractsOf(file: string): Promise<Record<string, unknown>> {
  const path = resolve(file)
  if (!existsSync(path)) throw new UsageError(`File not found: ${path}.`)
  const exported = (await loadFile(path)) as Record<string, unknown>
  const { default: byDefault, ...named } = exported
  // The default export of a CommonJS file contains its exports too.
  const inDefault = typeof byDefault === 'object' && byDefault !== null ? byDefault : {}
  return { ...inDefault, ...named }
}

async function listen(opened: Console, host: string, port: number): Promise<Server> {
  const server = standaloneServer(opened)
  server.listen(port, host)
  await once(server, 'listening').catch((error: unknown) => {
    if (peek(error, 'syscall') !== 'getaddrinfo') throw error
    throw new UsageError(`--host ${host} is not an address of this machine.`)
  })
  return server
}

function announce(
  { link, basePath }: Console,
  server: Server,
  { host, insecure }: { host: string; insecure: boolean },
): void {
  const { port } = server.address() as AddressInfo
  const origin = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  if (link === undefined) say(`The console is at ${origin}${basePath}/`)
  else say(`Open the console with this link, which works once:\n\n  ${origin}${link}\n`)
  if (insecure) note('INSECURE: no sign-in. Every person who can connect has full access.')
  note('Press Ctrl-C to stop.')
}

/** Answers the requests in progress; closes streams, which have no end. */
async function stop(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  const cut = setTimeout(() => {
    server.closeAllConnections()
  }, 2_000)
  await closed
  clearTimeout(cut)
}

function firstSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', resolve).once('SIGTERM', resolve)
  })
}
