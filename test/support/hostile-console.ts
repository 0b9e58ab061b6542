import { nextId } from '../../src/jobs/new/ids.ts'
import type { Console } from '../../src/server.ts'
import { createConsoleWithin } from '../../src/server/console.ts'
import { call, patient, tokens } from '../console/scene.ts'
import type { Answer, CallOptions } from '../console/scene.ts'
import { growingWait } from './eventually.ts'
import { lineOf } from './findings.ts'
import type { Findings } from './findings.ts'
import { describePlanted, replied } from './hostile-planted.ts'
import type { Planted } from './hostile-planted.ts'
import { inParallel } from './in-parallel.ts'
import { patienceMs } from './patience.ts'

/** An answer, and what went wrong in one line: the error that the console reported, or else the body. */
export type Told = Answer & { problem: string }

/** A console over hostile rows, with requests as people and their browsers send them. */
export class HostileConsole {
  readonly #served: Console
  readonly #errors = new Map<string, unknown>()

  constructor(url: string) {
    this.#served = createConsoleWithin(
      { ...patient, timeout: '5s' },
      {
        connection: url,
        tokens: Object.values(tokens).map(({ line }) => line),
        acceptUnknownKinds: true,
        onError: (error, { requestId }) => this.#errors.set(requestId, error),
      },
    )
  }

  close(): Promise<void> {
    return this.#served.close()
  }

  async ask(request: string, options: CallOptions = {}): Promise<Told> {
    const answer = await call(this.#served, request, { token: tokens.admin.token, ...options })
    const { status, text, headers } = answer
    const thrown = this.#thrownFor(headers)
    return { ...answer, problem: `${status} ${thrown === undefined ? text : lineOf(thrown)}` }
  }

  #thrownFor(headers: Headers): unknown {
    return this.#errors.get(headers.get('X-Request-Id') ?? '')
  }

  /** Pages through a list to its end. Returns the items that came before the first page that failed. */
  async pages(path: string, findings: Findings): Promise<Record<string, unknown>[]> {
    const items: Record<string, unknown>[] = []
    for (let cursor = ''; ;) {
      const next = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const { status, body, problem } = await this.ask(
        `GET ${path}${path.includes('?') ? '&' : '?'}limit=200${next}`,
      )
      if (status !== 200) {
        findings.add('lists', path, problem)
        return items
      }
      items.push(...(body['items'] as Record<string, unknown>[]))
      if (typeof body['next'] !== 'string' || body['next'] === cursor) return items
      cursor = body['next']
    }
  }

  /** Finds jobs by ids, many at once; where that fails, by halves, so that the rows at fault are named. */
  async searchByIds(rows: readonly Planted[], findings: Findings): Promise<void> {
    const some = async (part: readonly Planted[]): Promise<void> => {
      const { status, body, problem } = await this.ask(
        `GET /v1/jobs?limit=200&where=id:${part.map(({ id }) => id).join()}`,
      )
      const found = new Set(((body['items'] ?? []) as { id: string }[]).map(({ id }) => id))
      const before = findings.size
      if (status === 200) {
        for (const one of part)
          if (!found.has(one.id)) findings.add('not found by its id', describePlanted(one), 'missing')
        return
      }
      if (part.length > 1) for (const half of halves(part)) await some(half)
      if (findings.size === before) findings.add('GET /v1/jobs?where=id:', together(part), problem)
    }
    // A filter has at most 2,000 characters.
    for (let at = 0; at < rows.length; at += 50) await some(rows.slice(at, at + 50))
  }

  /** Watches jobs and operations as an open browser does: the first event has their state. */
  async readEvents(rows: readonly Planted[], findings: Findings): Promise<void> {
    const some = async (part: readonly Planted[]): Promise<void> => {
      const names = part.map(({ table, id }) => `${table === 'operation' ? table : 'job'}:${id}`)
      const response = await this.#served.fetch(
        new Request(`http://console.test/v1/events?topics=${['overview', 'workers', ...names].join()}`, {
          headers: { Authorization: `Bearer ${tokens.operator.token}` },
        }),
      )
      const text = await firstEvent(response)
      if (text.includes('data:')) return
      const before = findings.size
      if (part.length > 1) for (const half of halves(part)) await some(half)
      if (findings.size === before)
        findings.add('GET /v1/events', together(part), `${response.status} ${text}`)
    }
    const groups = Array.from({ length: Math.ceil(rows.length / 48) }, (_, at) =>
      rows.slice(at * 48, at * 48 + 48),
    )
    await inParallel(groups, some)
  }

  /** Sends the request again whose reply is stored in this row. */
  async repeat(one: Planted, findings: Findings): Promise<void> {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': one.id }
    const { token } = tokens[replied.role]
    // Not by ask(): the body is as it was stored, and need not be JSON.
    const response = await this.#served.fetch(
      new Request(`http://console.test${replied.path}`, {
        method: 'POST',
        body: replied.body,
        headers: { ...headers, Authorization: `Bearer ${token}` },
      }),
    )
    const thrown = this.#thrownFor(response.headers)
    if (response.status >= 500)
      findings.add('kept replies', describePlanted(one), thrown ?? (await response.text()))
  }

  /** Starts an operation as a person does, and waits until it has acted on all matches. */
  async operate(action: string, where: string): Promise<Told & { hasActed?: boolean }> {
    const json = { action, where, reason: 'hostile', max: 100_000, pace: null, canary: 0 }
    const started = await this.ask('POST /v1/operations', { json, headers: { 'Idempotency-Key': nextId() } })
    if (started.status !== 202) return started
    const wait = growingWait()
    for (const endAt = performance.now() + patienceMs; ;) {
      const now = await this.ask(`GET /v1/operations/${String(started.body['id'])}`)
      const state = String(now.body['state'])
      // A replay goes on to follow its jobs, and here no worker ends them.
      const [matched, ...done] = ['matched', 'acted', 'skipped', 'failed'].map((name) =>
        Number(now.body[name]),
      )
      const isAll = done.reduce((sum, count) => sum + count, 0) === matched
      const hasActed = state === 'done' || (state === 'ramping' && isAll)
      const isOver = hasActed || ['stopped', 'aborted', 'paused'].includes(state)
      if (now.status !== 200 || isOver || performance.now() > endAt) return { ...now, hasActed }
      await wait()
    }
  }
}

/** Names rows that fail together, but neither alone nor in halves. */
function together(rows: readonly Planted[]): string {
  const large = rows.filter(({ value }) => value.isLarge)
  return (large.length > 0 ? large : rows).map(describePlanted).join(' with ')
}

function halves<Item>(items: readonly Item[]): (readonly Item[])[] {
  const middle = Math.ceil(items.length / 2)
  return [items.slice(0, middle), items.slice(middle)]
}

/** Everything a stream sends up to its first event. */
async function firstEvent({ body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true })
      if (/data:.*\n/.test(text)) break
    }
    return text
  } catch (error) {
    return lineOf(error)
  }
}
