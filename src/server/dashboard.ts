import { isStintError } from '../core/errors.ts'
import { wantsPage } from './assets.ts'
import type { Assets } from './assets.ts'
import type { App } from './context.ts'
import type { Authenticator } from './auth/authenticator.ts'
import { notFound, unauthorized } from './auth/authorize.ts'
import { html, page } from './http/page.ts'
import { signInPath } from './auth/sign-in.ts'

export interface DashboardOptions {
  authenticator: Authenticator
  assets: Assets
  basePath: string
}

/** Serves the dashboard to callers that are signed in and redirects others to the sign-in page. Every URL gets the same page. */
export function showDashboard(app: App, { authenticator, assets, basePath }: DashboardOptions): void {
  app.get('*', async (c) => {
    const { raw, path } = c.req
    if (path === '/outside') throw notFound()
    if (!(await isSignedIn(authenticator, raw))) {
      if (!wantsPage(raw)) throw unauthorized()
      if (!authenticator.hasSignIn) return notSignedIn(basePath)
      const { search } = new URL(raw.url)
      return new Response(null, {
        status: 303,
        headers: { Location: signInPath(basePath, `${path}${search}`) },
      })
    }
    const answer = assets.answer(path, raw)
    if (answer === undefined) throw notFound()
    return answer
  })
}

/** The page contains no data. So it is served even if the session cannot be checked, and shows that the database is unavailable. */
async function isSignedIn(authenticator: Authenticator, request: Request): Promise<boolean> {
  try {
    return (await authenticator.identify(request)) !== undefined
  } catch (error) {
    if (isStintError(error)) return true
    throw error
  }
}

function notSignedIn(basePath: string): Response {
  const body = html`<p>
      This console is part of an application, and you are not signed in to that application.
    </p>
    <p>Sign in to the application, then open this page again.</p>`
  return page({ basePath, title: 'Not signed in', body, status: 401 })
}
