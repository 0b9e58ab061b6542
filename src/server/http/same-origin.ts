import { HttpProblem } from './problem.ts'

/** Methods that only look. */
const safe = new Set(['GET', 'HEAD', 'OPTIONS'])

export function isSafe(method: string): boolean {
  return safe.has(method)
}

/**
 * Refuses a request that a page of another site made a browser send. What a browser sends by itself (a cookie, a
 * network's trust) proves nothing about who asked, so it has to say that it comes from our own page: by
 * Sec-Fetch-Site, which no script can forge, or by Origin where a browser does not know that yet. Neither is a no.
 * The content type does not matter: a form, text and JSON can all be sent across sites.
 */
export function demandSameOrigin(request: Request, publicOrigin: string | undefined): void {
  const site = request.headers.get('Sec-Fetch-Site')
  if (site === 'same-origin') return
  if (site === null && isOurs(request, publicOrigin)) return
  throw new HttpProblem({
    status: 403,
    code: 'cross-site',
    title: 'Request from another site',
    detail:
      'This request is authenticated by what a browser sends by itself, and nothing shows that our own page made it.',
    hint: 'Programs authenticate with a token: Authorization: Bearer …',
  })
}

/** By host and port; the scheme is lost where a proxy ends TLS, unless the host told us its origin. */
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
