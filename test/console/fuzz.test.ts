import { randomUUID } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Console } from '../../src/server.ts'
import { consoleOpenApi, createConsoleWithin } from '../../src/server/console.ts'
import { pick, seeded } from '../guarantees/harness/random.ts'
import type { Random } from '../guarantees/harness/random.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { form } from '../support/form.ts'
import { contracts, patient, tokens } from './scene.ts'

const seed = Number(process.env['STINT_SEED'] ?? Date.now() % 1_000_000_000)
const requests = form === 'short' ? 2_000 : 20_000
const atOnce = 8
/**
 * A request without an answer for this long hangs; the limits of the console are below it, although it is patient here.
 */
const hangsAfterMs = 45_000

let db: TestDatabase
let served: Console
const failures: unknown[] = []
beforeAll(async () => {
  db = await createTestDatabase()
  served = createConsoleWithin(patient, {
    connection: db.url,
    contracts,
    acceptUnknownKinds: true,
    tokens: Object.values(tokens).map(({ line }) => line),
    onError: (error) => failures.push(error),
  })
})
afterAll(async () => {
  await served.close()
  await db.drop()
})

const document = consoleOpenApi() as { paths: Record<string, Record<string, unknown>> }

const words = [
  ...[
    '',
    ' ',
    '0',
    '-1',
    '1e999',
    '../../etc/passwd',
    '%00',
    '%ff',
    '%2F%2e%2e',
    '\u0000',
    '\ud800',
    '💥',
    'null',
  ],
  ...[
    "' or 1=1 --",
    '"; drop table stint.job; --',
    '<script>alert(1)</script>',
    '{{7*7}}',
    '${7*7}',
    '__proto__',
  ],
  ...[
    'state:dead',
    'state:',
    'age>1h',
    'input.x:1',
    'where',
    'constructor',
    'a'.repeat(300),
    '2026-01-01T00:00:00Z',
    'overview',
  ],
  ...[
    'mail.send',
    'card.charge',
    'any.thing',
    'billing',
    '5m',
    'NaN',
    '9007199254740993',
    'dead',
    'true',
    '\r\nX: y',
  ],
]

function word(random: Random): string {
  if (random() < 0.1) return randomUUID()
  return pick(random, words) ?? ''
}

/** Any JSON, sometimes with names that routes know. */
function value(random: Random, depth = 0): unknown {
  const roll = random()
  if (roll < 0.3 || depth > 4) return word(random)
  if (roll < 0.45) return pick(random, [0, -1, 1.5, 1e308, 2 ** 53, 40_000, true, false, null])
  if (roll < 0.6) return Array.from({ length: Math.floor(random() * 4) }, () => value(random, depth + 1))
  const names = [
    'kind',
    'queue',
    'input',
    'runAt',
    'delay',
    'priority',
    'key',
    'reason',
    'expect',
    'jobs',
    'action',
  ]
  const more = [
    'where',
    'ids',
    'canary',
    'pace',
    'dryRun',
    'until',
    'for',
    'state',
    'epoch',
    'patch',
    'max',
    word(random),
  ]
  const entries = Array.from({ length: Math.floor(random() * 6) }, () => [
    pick(random, [...names, ...more]) ?? 'x',
    value(random, depth + 1),
  ])
  return Object.fromEntries(entries) as unknown
}

/** Bodies that routes accept, so that some requests get past the checks. */
const rightBodies: Record<string, Record<string, unknown>[]> = {
  '/v1/jobs': [{ kind: 'any.thing', queue: 'q', input: { to: 'ana' } }],
  '/v1/operations': [
    { action: 'cancel', where: 'kind:mail.send', reason: 'fuzz' },
    { action: 'replay', where: 'state:dead', reason: 'fuzz', dryRun: true },
  ],
}

/** A valid request of each body: few of the random ones are valid. */
function rightRequests(): Request[] {
  return Object.entries(rightBodies).flatMap(([path, bodies]) =>
    bodies.map(
      (body) =>
        new Request(`http://console.test${path}`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${tokens.admin.token}`, 'Content-Type': 'application/json' },
          body: JSON.stringify(body),
        }),
    ),
  )
}

/** These paths more often, so that every kind of answer occurs. */
const paths = [...Object.keys(document.paths), ...Array<string[]>(5).fill(Object.keys(rightBodies)).flat()]

/** A valid body as it is, or with one wrong field. */
function nearlyRight(random: Random, path: string): Record<string, unknown> {
  const body = pick(random, rightBodies[path] ?? [{ reason: 'fuzz' }]) ?? {}
  const field = pick(random, Object.keys(body)) ?? 'x'
  return random() < 0.5 ? body : { ...body, [field]: value(random) }
}

/** Text that takes quadratic time to a reader that starts again at each quote or digit. */
function slowToScan(random: Random): string {
  const many = Math.floor(random() * 200_000)
  const endless = ['\\"', '"\\', '"1', '1'].map((text) => text.repeat(many))
  const ends = ['', '.5]', 'e', '"']
  return `[1234567890123456${pick(random, ['', '"']) ?? ''}${pick(random, endless) ?? ''}${pick(random, ends) ?? ''}`
}

function bodyOf(random: Random, path: string): string | Uint8Array<ArrayBuffer> {
  const roll = random()
  if (roll < 0.1) return word(random)
  if (roll < 0.11) return slowToScan(random)
  if (roll < 0.15) return '['.repeat(Math.floor(random() * 20_000))
  if (roll < 0.2) return `{"kind":"any.thing","input":${'['.repeat(300)}${']'.repeat(300)}}`
  if (roll < 0.25) return Uint8Array.from({ length: 64 }, () => Math.floor(random() * 256))
  if (roll < 0.4) return JSON.stringify({ kind: pick(random, words), queue: 'q', input: value(random) })
  if (roll < 0.65) return JSON.stringify(nearlyRight(random, path))
  if (roll < 0.7)
    return JSON.stringify({ jobs: [value(random), { kind: 'any.thing', input: value(random) }] })
  const text = JSON.stringify(value(random))
  return roll < 0.8 ? text.slice(0, Math.floor(random() * text.length)) : text
}

/** Only what a header may hold; clients refuse to send other text. */
function headerText(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').trim()
}

function requestOf(random: Random): Request {
  const known = random() < 0.85 ? pick(random, paths) : undefined
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'PROPFIND']
  const takes = Object.keys(document.paths[known ?? ''] ?? {}).map((method) => method.toUpperCase())
  const method = pick(random, takes.length > 0 && random() < 0.75 ? takes : methods) ?? 'GET'
  const path =
    known?.replaceAll(/\{\w+\}/g, () => segment(random)) ??
    `/${encodeURI(safe(word(random)))}/${segment(random)}`
  const query = new URLSearchParams()
  for (let count = Math.floor(random() * 4); count > 0; count--)
    query.append(
      pick(random, ['where', 'cursor', 'limit', 'topics', 'from', 'to', 'step', 'once', word(random)]) ?? '',
      safe(word(random)),
    )
  const headers = new Headers()
  const role = pick(random, ['viewer', 'operator', 'operator', 'admin', 'admin', undefined] as const)
  if (role !== undefined) headers.set('Authorization', `Bearer ${tokens[role].token}`)
  else if (random() < 0.5) headers.set('Authorization', headerText(`Bearer ${word(random)}`))
  if (random() < 0.8) headers.set('Content-Type', 'application/json')
  else if (random() < 0.5) headers.set('Content-Type', headerText(word(random)))
  for (const name of [
    'Idempotency-Key',
    'Prefer',
    'If-None-Match',
    'Accept',
    'Cookie',
    'X-Request-Id',
    'Origin',
    'Last-Event-ID',
  ])
    if (random() < 0.08) headers.set(name, headerText(word(random)))
  const hasBody = method !== 'GET' && method !== 'HEAD' && random() < 0.9
  return new Request(`http://console.test${path}?${query.toString()}`, {
    method,
    headers,
    ...(hasBody ? { body: bodyOf(random, known ?? '') } : {}),
  })
}

/** A part of a path: any text, or an invalid percent-encoding. */
function segment(random: Random): string {
  if (random() < 0.1) return pick(random, ['%ff', '%zz', '%', '%c3%28', '%ed%a0%80']) ?? ''
  return encodeURIComponent(safe(word(random)))
}

/** Without lone surrogates, which no URL can hold. */
function safe(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '?')
}

test(`${requests} hostile requests: none fails inside the console, none hangs, and memory does not grow (seed ${seed})`, async () => {
  const random = seeded(seed)
  const statuses = new Map<number, number>()
  const wrong: string[] = []
  const one = async (request = requestOf(random)): Promise<void> => {
    const said = `${request.method} ${request.url}`
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<'hung'>((resolve) => {
      timer = setTimeout(() => {
        resolve('hung')
      }, hangsAfterMs)
    })
    const response = await Promise.race([served.fetch(request), late])
    clearTimeout(timer)
    if (response === 'hung') return void wrong.push(`${said} hung`)
    // A stream of events does not end by itself.
    await response.body?.cancel()
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
    // No 503 either: so few requests at once exceed no limit, unless something they opened was left open.
    if (response.status >= 500) wrong.push(`${said} → ${response.status}`)
  }
  const batch = async (count: number): Promise<void> => {
    let left = count
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        while (left-- > 0) await one()
      }),
    )
  }
  for (const request of rightRequests()) await one(request)
  await batch(requests / 4)
  const before = heapAfterCollection()
  await batch((requests / 4) * 3)
  const grown = heapAfterCollection() - before
  expect({ wrong: wrong.slice(0, 10), failures: failures.slice(0, 3).map(stackOf) }).toEqual({
    wrong: [],
    failures: [],
  })
  // No name in a request has become a property of all objects.
  expect(inheritedNames()).toEqual([])
  // The requests reached the routes, and were refused in many ways.
  const seen = [...statuses.keys()]
  expect(seen).toEqual(expect.arrayContaining([200, 202, 400, 401, 403, 404, 405, 415, 422]))
  expect(grown).toBeLessThan(64 * 1_048_576)
}, 600_000)

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void

function heapAfterCollection(): number {
  collect()
  return process.memoryUsage().heapUsed
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

function inheritedNames(): string[] {
  const names: string[] = []
  for (const name in {}) names.push(name)
  return names
}
