import type { Context, MiddlewareHandler } from 'hono'
import { actions } from '../api/common.ts'
import type { Action } from '../api/common.ts'
import type { Caller } from './caller.ts'
import type { App, Env } from '../context.ts'
import { demand } from './demand.ts'
import { HttpProblem } from '../http/problem.ts'
import { demandSameOrigin, isSafe } from '../http/same-origin.ts'

export interface GateOptions {
  app: App
  identify: (request: Request) => Promise<Caller | undefined>
  publicOrigin: string | undefined
  /** Told of an act that a role may not do. */
  onRefused: (c: Context<Env>) => Promise<void>
}

/**
 * Who may come in, before a route looks at anything of the request. Its table is made of the routes themselves: one
 * that is not described, or names no action, cannot be reached. Routes check again with the resource in hand.
 */
export function guard({ app, identify, publicOrigin, onRefused }: GateOptions): MiddlewareHandler<Env> {
  let table: readonly KnownRoute[] | undefined
  return async (c, next) => {
    // At the first request: by then all routes are there.
    table ??= routesOf(app)
    const { method, path } = c.req
    const here = table.filter(({ pattern }) => pattern.test(path))
    const route = here.find((one) => one.method === (method === 'HEAD' ? 'GET' : method))
    if (route?.action === null) return next()
    const caller = await identify(c.req.raw)
    if (caller === undefined) throw unauthorized()
    // A program's token is not sent by a browser on its own.
    if (!isSafe(method) && caller.origin === 'dashboard') demandSameOrigin(c.req.raw, publicOrigin)
    c.set('caller', caller)
    if (route === undefined)
      throw here.length === 0 ? notFound() : methodNotAllowed(here.map((one) => one.method))
    if (!isSafe(method) && !caller.can(route.action)) await onRefused(c)
    demand(c, route.action)
    return next()
  }
}

interface KnownRoute {
  method: string
  pattern: RegExp
  /** Null where it is open to all: `security: []`. */
  action: Action | null
}

/** The routes as they are described, those without parameters first, as the router has it too. */
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
  if (action === undefined) throw new Error(`The route ${route.path} names no action it demands`)
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
