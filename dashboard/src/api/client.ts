import type { Problem } from '../../../src/server/api/common.ts'
import { heardTime } from '../text/clock.ts'

/** A problem that the server answered, or status 0 if it could not be reached. */
export class ApiError extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.detail === '' ? problem.title : problem.detail)
    this.problem = problem
  }

  /** `state-changed` of `urn:stint:problem:state-changed` */
  get code(): string {
    return this.problem.type.split(':').at(-1) ?? ''
  }
}

export type Params = Readonly<Record<string, string | number | boolean | null | undefined>>

/** The base path of the page, with a slash at its end; the server puts it into <base>. */
export const base = new URL('.', document.baseURI)

/** The URL of a resource; names are escaped, so that `/`, `.` and `%` stay inside their segment. */
export function at(...segments: string[]): string {
  return segments.map(encodeURIComponent).join('/')
}

export function apiUrl(path: string, params: Params = {}): URL {
  const url = new URL(`v1/${path}`, base)
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== '') url.searchParams.set(name, String(value))
  }
  return url
}

export function get<Answer>(path: string, params?: Params, signal?: AbortSignal): Promise<Answer> {
  return request<Answer>(apiUrl(path, params), { method: 'GET', ...(signal && { signal }) })
}

/** Sends an action. `body` is a value, or JSON text that a person wrote, which is sent unchanged. */
export function send<Answer>(
  method: 'POST' | 'PATCH' | 'PUT' | 'DELETE',
  path: string,
  body: object | string = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return request<Answer>(apiUrl(path), {
    method,
    headers: { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID(), ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

interface Sent {
  method: string
  headers?: Readonly<Record<string, string>>
  body?: string
  signal?: AbortSignal
}

async function request<Answer>(url: URL, { headers, ...init }: Sent): Promise<Answer> {
  let response: Response
  try {
    response = await fetch(url, {
      ...init,
      headers: { accept: 'application/json', ...headers },
      credentials: 'same-origin',
    })
  } catch (error) {
    if (init.signal?.aborted) throw error
    throw new ApiError(
      problem(
        url,
        0,
        'unreachable',
        'The console does not answer',
        'The console may be restarting, or the network is down.',
      ),
    )
  }
  const text = await response.text()
  const value = parsed(text)
  if (response.ok) {
    if (typeof value === 'object' && value !== null && 'asOf' in value) heardTime(value.asOf)
    return value as Answer
  }
  if (isProblem(value)) throw new ApiError(value)
  throw new ApiError(problem(url, response.status, 'unexpected', response.statusText, text.slice(0, 300)))
}

function parsed(text: string): unknown {
  if (text === '') return null
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function isProblem(value: unknown): value is Problem {
  return (
    typeof value === 'object' && value !== null && 'type' in value && 'status' in value && 'title' in value
  )
}

function problem(url: URL, status: number, code: string, title: string, detail: string): Problem {
  return { type: `urn:stint:problem:${code}`, title, status, detail, instance: url.pathname, requestId: '' }
}
