import type { MiddlewareHandler } from 'hono'
import type { Env } from '../context.ts'
import { HttpProblem } from './problem.ts'

/**
 * Refuses a request that was sent to a name we do not have.
 *
 * A console that asks nobody who they are is guarded by where it can be reached from: this machine. A page of another
 * site gets there all the same where its own name is made to resolve to 127.0.0.1 after it was loaded (DNS rebinding):
 * to the browser the console is then of the page's own origin, so no cookie, CORS or Sec-Fetch-Site stands in its way.
 * What it cannot do is send another Host than the name in its address.
 */
export function demandKnownHost(names: ReadonlySet<string>): MiddlewareHandler<Env> {
  return async (c, next) => {
    const said = c.req.header('Host')
    // Some hosts put a name of their own into the address and leave the header, so both are asked.
    const isKnown = [new URL(c.req.url).host, ...(said === undefined ? [] : [said])].every((host) => {
      const name = nameOf(host)
      return name !== undefined && (isLoopback(name) || names.has(name))
    })
    if (!isKnown && !c.req.path.startsWith('/v1/health/')) throw unknownHost()
    await next()
  }
}

/** Names and addresses that only this machine has. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** The name in `name:port`, as a browser writes it; undefined where it is none. */
export function nameOf(host: string): string | undefined {
  const isPlain = /^[^/@?#\\\s]+$/.test(host) && URL.canParse(`http://${host}`)
  return isPlain ? new URL(`http://${host}`).hostname : undefined
}

function unknownHost(): HttpProblem {
  return new HttpProblem({
    status: 421,
    code: 'unknown-host',
    title: 'Unknown host name',
    detail:
      'This console has no sign-in, so it answers only under the names of this machine. The request used another host name.',
    hint: 'Open it at localhost, configure its name (`publicOrigin`, `hosts`, --public-origin), or add a sign-in.',
  })
}
