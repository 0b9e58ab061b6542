import type { Context } from 'hono'
import { SignInAttempts } from './sign-in-attempts.ts'
import { readBody } from '../http/body.ts'
import type { App, Env } from '../context.ts'
import type { Authenticator } from './authenticator.ts'
import { html, page, pageStyle } from '../http/page.ts'
import { requireSameOrigin } from '../http/same-origin.ts'

export interface SignInOptions {
  basePath: string
  publicOrigin: string | undefined
}

/** The pages that sign in with a token or the one-time link, and that sign out. They need no script. */
export function signInPages(
  app: App,
  authenticator: Authenticator,
  { basePath, publicOrigin }: SignInOptions,
): void {
  const attempts = new SignInAttempts()
  const isSecure = (request: Request): boolean =>
    request.url.startsWith('https:') ||
    publicOrigin?.startsWith('https:') === true ||
    request.headers.get('X-Forwarded-Proto') === 'https'

  /**
   * Only failed sign-ins are counted and limited; the token is checked before the limit. Behind a proxy all people share
   * one address, so a limit that is checked first would let one person lock out all others with ten wrong tries a minute.
   * Checking the token first is safe: tokens and links have 256 bits, and a check is one hash in memory, without the
   * database or a log line.
   */
  const refused = (c: Context<Env>, { to, failure }: { to: string; failure: string }): Response => {
    const address = addressOf(c)
    const wait = attempts.waitFor(address)
    if (wait > 0) return tooMany(basePath, to, wait)
    attempts.failed(address)
    return form({ basePath, to, failure, status: 401 })
  }

  app.get('/page.css', () => {
    const headers = { 'Content-Type': 'text/css; charset=utf-8', 'Cache-Control': 'public, max-age=3600' }
    return new Response(pageStyle, { headers })
  })

  app.get('/login', (c) => {
    const once = c.req.query('once')
    const to = c.req.query('to') ?? '/'
    // Programs that only inspect links, such as mail scanners, send HEAD: it must not use up the link.
    if (once === undefined || c.req.method === 'HEAD') return form({ basePath, to, status: 200 })
    const cookie = authenticator.useLink(once, isSecure(c.req.raw))
    if (cookie !== undefined) return seeOther(`${basePath}/`, cookie)
    const failure =
      'This link was already used, or its console has stopped. Restart the console to get a new link.'
    return refused(c, { to, failure })
  })

  app.post('/login', async (c) => {
    requireSameOrigin(c.req.raw, publicOrigin)
    const body = await readBody(c.req.raw, { maxBytes: 8_192, withinMs: 10_000 })
    const fields = new URLSearchParams(new TextDecoder().decode(body))
    const to = fields.get('to') ?? '/'
    const cookie = authenticator.signIn((fields.get('token') ?? '').trim(), isSecure(c.req.raw))
    if (cookie !== undefined) return seeOther(`${basePath}${ownPath(to)}`, cookie)
    return refused(c, { to, failure: 'This token is not valid here.' })
  })

  app.post('/logout', async (c) => {
    requireSameOrigin(c.req.raw, publicOrigin)
    return seeOther(`${basePath}/login`, await authenticator.signOut(c.req.raw, isSecure(c.req.raw)))
  })
}

/** The path of the sign-in page, which then leads back to the wanted path. */
export function signInPath(basePath: string, wanted: string): string {
  const query = wanted === '/' ? '' : `?to=${encodeURIComponent(wanted)}`
  return `${basePath}/login${query}`
}

/** The path if it is a path of this console, else '/': the sign-in page must not redirect to another site. */
function ownPath(to: string): string {
  return /^\/(?![/\\])[^\\\s]*$/.test(to) && to.length <= 2_000 ? to : '/'
}

function addressOf(c: Context<Env>): string {
  return c.env.address ?? ''
}

function seeOther(location: string, cookie: string): Response {
  return new Response(null, { status: 303, headers: { Location: location, 'Set-Cookie': cookie } })
}

interface FormOptions {
  basePath: string
  to: string
  status: number
  failure?: string
  headers?: Readonly<Record<string, string>>
}

function form({ basePath, to, status, failure, headers = {} }: FormOptions): Response {
  const alert = failure === undefined ? html`` : html`<p class="failure" role="alert">${failure}</p>`
  const body = html`${alert}
    <form method="post" action="${basePath}/login">
      <input type="hidden" name="to" value="${ownPath(to)}" />
      <label for="token">Token</label>
      <input id="token" name="token" type="password" autocomplete="current-password" required autofocus />
      <button type="submit">Sign in</button>
    </form>
    <p><code>stint token new</code> creates a token.</p>`
  return page({ basePath, title: 'Sign in', body, status, headers })
}

function tooMany(basePath: string, to: string, seconds: number): Response {
  const failure = `Too many tries. Wait ${seconds} seconds.`
  return form({ basePath, to, failure, status: 429, headers: { 'Retry-After': String(seconds) } })
}
