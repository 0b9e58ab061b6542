import { HttpProblem } from './problem.ts'

/** Methods that only read. */
const safe = new Set(['GET', 'HEAD', 'OPTIONS'])

export function isSafe(method: string): boolean {
  return safe.has(method)
}

/**
 * Refuses a request that a page of another site made a browser send. A cookie, or access from a trusted network, does not
 * prove that our own page sent the request. Sec-Fetch-Site proves it, because no script can forge it; for browsers without
 * that header, Origin does. A request with neither header is refused. The content type does not matter: a form, text and
 * JSON can all be sent across sites.
 */
export function requireSameOrigin(request: Request, publicOrigin: string | undefined): void {
  const site = request.headers.get('Sec-Fetch-Site')
  if (site === 'same-origin') return
  if (site === null && isOurs(request, publicOrigin)) return
  throw new HttpProblem({
    status: 403,
    code: 'cross-site',
    title: 'Request from another site',
    detail:
      'A browser sends the credentials of this request by itself, and nothing shows that a page of this console made it.',
    hint: 'Programs authenticate with a token: Authorization: Bearer …',
  })
}

/** Compares host and port. Behind a proxy that ends TLS the scheme is lost, so it is compared only with `publicOrigin`. */
function isOurs(request: Request, publicOrigin: string | undefined): boolean {
  const origin = request.headers.get('Origin')
  if (origin === null || origin === 'null') return false
  if (publicOrigin !== undefined) return origin === publicOrigin
  try {
    return new URL(origin).host === new URL(request.url).host
  } catch {
    return false
  }
}
