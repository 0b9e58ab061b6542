import type { Context, MiddlewareHandler } from 'hono'
import { actions } from '../api/common.ts'
import type { Action } from '../api/common.ts'
import type { Caller } from './caller.ts'
import type { App, Env } from '../context.ts'
import { requirePermission } from './require-permission.ts'
import { HttpProblem } from '../http/problem.ts'
import { requireSameOrigin, isSafe } from '../http/same-origin.ts'

export interface AuthorizeOptions {
  app: App
  identify: (request: Request) => Promise<Caller | undefined>
  publicOrigin: string | undefined
  /** Called when the caller's role does not allow an action that changes data. */
  onRefused: (c: Context<Env>) => Promise<void>
}

/**
 * Identifies the caller and checks the permission of the route, before the route reads the request. The table is built
 * from the routes' own descriptions: a route that is not described, or names no action, cannot be reached. A route checks
 * again once it knows the resource.
 */
export function authorize({
  app,
  identify,
  publicOrigin,
  onRefused,
}: AuthorizeOptions): MiddlewareHandler<Env> {
  let table: readonly KnownRoute[] | undefined
  return async (c, next) => {
    // Built at the first request, when all routes are registered.
    table ??= routesOf(app)
    const { method, path } = c.req
    const here = table.filter(({ pattern }) => pattern.test(path))
    const route = here.find((one) => one.method === (method === 'HEAD' ? 'GET' : method))
    if (route?.action === null) return next()
    const caller = await identify(c.req.raw)
    if (caller === undefined) throw unauthorized()
    // Only cookies need the same-origin check: a browser does not send a bearer token by itself.
    if (!isSafe(method) && caller.origin === 'dashboard') requireSameOrigin(c.req.raw, publicOrigin)
    c.set('caller', caller)
    if (route === undefined)
      throw here.length === 0 ? notFound() : methodNotAllowed(here.map((one) => one.method))
    if (!isSafe(method) && !caller.can(route.action)) await onRefused(c)
    requirePermission(c, route.action)
    return next()
  }
}

interface KnownRoute {
  method: string
  pattern: RegExp
  /** Null for a route without authentication: `security: []`. */
  action: Action | null
}

/** The described routes; those without parameters come first, as in the router. */
export function routesOf(app: App): KnownRoute[] {
  const found = app.openAPIRegistry.definitions.flatMap((definition) =>
    definition.type === 'route' ? [definition.route] : [],
  )
  const depth = (path: string): number => path.split('{').length
  return found
    .toSorted((a, b) => depth(a.path) - depth(b.path))
    .map((route) => ({
      method: route.method.toUpperCase(),
      pattern: patternOf(route.path),
      action: actionOf(route),
    }))
}

function patternOf(path: string): RegExp {
  const source = path
    .split(/(\{[^}]+\})/)
    .map((part) => (part.startsWith('{') ? '[^/]+' : part.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&')))
    .join('')
  return new RegExp(`^${source}$`)
}

function actionOf(route: { path: string; security?: unknown; 'x-action'?: unknown }): Action | null {
  if (Array.isArray(route.security) && route.security.length === 0) return null
  const action = actions.find((one) => one === route['x-action'])
  if (action === undefined) throw new Error(`The route ${route.path} names no action in x-action`)
  return action
}

export function unauthorized(): HttpProblem {
  return new HttpProblem({
    status: 401,
    code: 'unauthorized',
    title: 'Not signed in',
    detail: 'This request has no valid token or session.',
    hint: 'Send Authorization: Bearer … with a token from stint token new',
    headers: { 'WWW-Authenticate': 'Bearer realm="stint"' },
  })
}

export function notFound(): HttpProblem {
  return new HttpProblem({
    status: 404,
    code: 'not-found',
    title: 'Not found',
    detail: 'There is no route at this address.',
    hint: 'GET /v1/openapi.json lists all routes.',
  })
}

function methodNotAllowed(methods: readonly string[]): HttpProblem {
  return new HttpProblem({
    status: 405,
    code: 'method-not-allowed',
    title: 'Method not allowed',
    detail: `This address accepts ${[...new Set(methods)].join(', ')}.`,
    headers: { Allow: [...new Set(methods)].join(', ') },
  })
}
