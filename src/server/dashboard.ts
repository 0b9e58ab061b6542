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

/** The dashboard for whoever is let in; others are sent to the sign-in page. Every address of it is the same page. */
export function showDashboard(app: App, { authenticator, assets, basePath }: DashboardOptions): void {
  app.get('*', async (c) => {
    const { raw, path } = c.req
    if (path === '/outside') throw notFound()
    if (!(await isLetIn(authenticator, raw))) {
      if (!wantsPage(raw)) throw unauthorized()
      if (!authenticator.hasSignIn) return notLetIn(basePath)
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

/** The page holds no data: it is shown to a session that cannot be looked up now, and says that the database is away. */
async function isLetIn(authenticator: Authenticator, request: Request): Promise<boolean> {
  try {
    return (await authenticator.identify(request)) !== undefined
  } catch (error) {
    if (isStintError(error)) return true
    throw error
  }
}

function notLetIn(basePath: string): Response {
  const body = html`<p>
      This console asks the application that it is part of who you are, and it did not say.
    </p>
    <p>Sign in there, then open this page again.</p>`
  return page({ basePath, title: 'Not signed in', body, status: 401 })
}
