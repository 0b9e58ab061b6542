import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { consoleOpenApi } from '../../src/server/console.ts'
import { actionsOf } from '../../src/server/auth/roles.ts'
import { roles } from '../../src/server/api/common.ts'
import type { Action, Role } from '../../src/server/api/common.ts'
import { openConsole, tokens } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db.drop())

interface Described {
  'x-action'?: Action
  security?: unknown[]
}
const document = consoleOpenApi() as { paths: Record<string, Record<string, Described>> }
const methods = ['get', 'put', 'post', 'patch', 'delete']

/** Every route of the OpenAPI document, so that none can be forgotten. */
const routes = Object.entries(document.paths).flatMap(([path, item]) =>
  methods.flatMap((method) => {
    const route = item[method]
    return route === undefined ? [] : [{ method: method.toUpperCase(), path, route }]
  }),
)

/** A valid name or id that does not exist. */
function concrete(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === 'group' ? 'ffffffffffffffff' : name === 'name' || name === 'queue' ? 'nothing' : randomUUID(),
  )
}

/** Only the status: a stream of events does not end. */
async function statusOf(
  served: ReturnType<typeof openConsole>,
  { method, path }: { method: string; path: string },
  role: Role | undefined,
): Promise<number> {
  const response = await served.fetch(
    new Request(`http://console.test${concrete(path)}`, {
      method,
      headers: {
        'Content-Type': 'application/json',
        ...(role === undefined ? {} : { Authorization: `Bearer ${tokens[role].token}` }),
      },
      ...(method === 'GET' ? {} : { body: '{}' }),
    }),
  )
  await response.body?.cancel()
  return response.status
}

test('every route names the right it takes or is public on purpose', () => {
  expect(routes.length).toBeGreaterThan(5)
  const open = routes.filter(({ route }) => route.security?.length === 0).map(({ path }) => path)
  expect([...new Set(open)].sort()).toEqual(['/approvals/{token}', '/v1/health/live', '/v1/health/ready'])
  for (const { path, route } of routes)
    if (!open.includes(path)) expect(actionsOf.admin.has(route['x-action'] as Action), path).toBe(true)
})

test.each(routes)('$method $path is allowed to exactly the roles that have its right', async (one) => {
  const served = openConsole(db.url)
  const { 'x-action': action, security } = one.route
  const isOpen = security?.length === 0
  const signedOut = await statusOf(served, one, undefined)
  // An approval link is a right itself, and this one is none.
  if (isOpen) expect(signedOut).toBe(one.path.startsWith('/approvals') ? 404 : 200)
  else expect(signedOut).toBe(401)
  for (const role of roles) {
    const status = await statusOf(served, one, role)
    const may = isOpen || actionsOf[role].has(action as Action)
    if (may) expect([401, 403], `${role}: ${status}`).not.toContain(status)
    else expect(status, role).toBe(403)
    expect(status, role).not.toBe(500)
  }
})

test('a host that narrows rights by queue hides the others: 403 for an action, 404 for what cannot be seen', async () => {
  const served = openConsole(db.url, {
    tokens: [],
    auth: () => ({
      actor: 'scoped',
      role: 'operator',
      origin: 'api',
      can: (action, resource) =>
        resource?.queue === undefined ||
        resource.queue === 'mail' ||
        (action === 'view' && resource.queue === 'billing'),
    }),
  })
  const send = async (kind: string, input: unknown): Promise<number> => {
    const response = await served.fetch(
      new Request('http://console.test/v1/jobs', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ kind, input }),
      }),
    )
    return response.status
  }
  expect(await send('mail.send', { to: 'ana@example.com' })).toBe(202)
  expect(await send('card.charge', { items: [{ cents: 1 }] })).toBe(403)
  expect(await send('any.thing', 1)).toBe(404)
})
