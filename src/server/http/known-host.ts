import type { MiddlewareHandler } from 'hono'
import type { Env } from '../context.ts'
import { HttpProblem } from './problem.ts'

/**
 * Refuses a request whose Host is not a name of this console.
 *
 * A console without sign-in is protected only because it can be reached from this machine alone. A page of another site
 * can reach it if the site's name resolves to 127.0.0.1 after the page is loaded (DNS rebinding). For the browser the
 * console then has the page's own origin, so neither cookies nor CORS nor Sec-Fetch-Site stop it. But the page cannot
 * send another Host than the name in its address.
 */
export function requireKnownHost(names: ReadonlySet<string>): MiddlewareHandler<Env> {
  return async (c, next) => {
    const header = c.req.header('Host')
    // Some hosts put their own name into the URL and keep the header, so both are checked.
    const isKnown = [new URL(c.req.url).host, ...(header === undefined ? [] : [header])].every((host) => {
      const name = nameOf(host)
      return name !== undefined && (isLoopback(name) || names.has(name))
    })
    if (!isKnown && !c.req.path.startsWith('/v1/health/')) throw unknownHost()
    await next()
  }
}

/** Whether the host is a loopback name or address, which only this machine can use. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** The name in `name:port`, as a browser writes it; undefined if the text is not a host. */
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
