import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { defineJob, Stint } from '../../src/index.ts'
import { createConsole } from '../../src/server.ts'
import type { Console, ConsoleOptions, Role } from '../../src/server.ts'
import { createConsoleWithin } from '../../src/server/console.ts'
import type { ConsoleLimits } from '../../src/server/console.ts'
import type { Problem } from '../../src/server/api/common.ts'
import { makeToken } from '../../src/server/auth/tokens.ts'

export const sendMail = defineJob({
  kind: 'mail.send',
  queue: 'mail',
  input: z.object({
    to: z.email(),
    subject: z.string().max(100).default('hello'),
    token: z.string().optional(),
  }),
  key: (input) => input.to.split('@')[1],
  redact: ['subject'],
})
export const chargeCard = defineJob({
  kind: 'card.charge',
  queue: 'billing',
  input: z.object({ items: z.array(z.object({ cents: z.int().min(1) })) }),
  unique: { by: (input) => JSON.stringify(input.items), onConflict: 'error' },
})
export const anything = defineJob({ kind: 'any.thing' })
export const contracts = [sendMail, chargeCard, anything]

export interface Answer {
  status: number
  headers: Headers
  text: string
  /** The parsed body, where it is JSON. */
  body: Record<string, unknown>
}

export interface CallOptions {
  /** A token to send, as a program does. */
  token?: string | undefined
  headers?: Record<string, string> | undefined
  /** A body that is sent as JSON. */
  json?: unknown
  /** The host that the request is sent to. @default console.test */
  host?: string | undefined
  /** A body that is sent as it is. */
  body?: string | Uint8Array | ReadableStream | undefined
}

export const tokens: Readonly<Record<Role, { token: string; line: string }>> = {
  viewer: makeToken({ name: 'vi', role: 'viewer', expiresAt: null }),
  operator: makeToken({ name: 'otto', role: 'operator', expiresAt: null }),
  admin: makeToken({ name: 'ada', role: 'admin', expiresAt: null }),
}

/**
 * A machine may stand still for longer than a console waits for its database; tests of other things must not fail by
 * that.
 */
export const patient: ConsoleLimits = {
  timeout: '20s',
  poolWait: '20s',
  statementTimeout: '20s',
  lockTimeout: '20s',
}

/** A console with a token of each role that closes with the test. It waits longer for its database than usual. */
export function openConsole(url: string, options: ConsoleOptions = {}): Console {
  return opened(createConsoleWithin(patient, optionsOf(url, options)))
}

/** The same with the usual limits, for tests of these limits. */
export function openUsualConsole(url: string, options: ConsoleOptions = {}): Console {
  return opened(createConsole(optionsOf(url, options)))
}

function optionsOf(url: string, options: ConsoleOptions): ConsoleOptions {
  return {
    connection: url,
    contracts,
    tokens: Object.values(tokens).map(({ line }) => line),
    onError: (error) => {
      throw error
    },
    ...options,
  }
}

function opened(served: Console): Console {
  onTestFinished(() => served.close())
  return served
}

export function openStint(url: string): Stint {
  const stint = new Stint({ connection: url })
  onTestFinished(() => stint.close())
  return stint
}

/** One request, in process. */
export async function call(
  served: Pick<Console, 'fetch'>,
  request: string,
  { token, headers = {}, json, body, host = 'console.test' }: CallOptions = {},
): Promise<Answer> {
  const [method = 'GET', path = '/'] = request.split(' ')
  const sent = json === undefined ? body : JSON.stringify(json)
  const response = await served.fetch(
    new Request(`http://${host}${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...(json === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      redirect: 'manual',
      ...(sent === undefined ? {} : { body: sent, duplex: 'half' }),
    }),
  )
  return read(response)
}

export async function read(response: Response): Promise<Answer> {
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('Content-Type') ?? '')
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {},
  }
}

export function problemOf({ body }: Answer): Problem {
  return body as unknown as Problem
}
