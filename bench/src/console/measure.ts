import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'
import { median } from '../statistics.ts'
import type { Asked } from './requests.ts'
import type { Served } from './stint.ts'

/** The time in ms from the request to the last byte of its answer. */
export interface Took {
  name: string
  /** From a new console, which has nothing cached. */
  first: number
  /** From a console that has answered this before. */
  again: number
  worst: number
  mayTakeMs: number
}

/** The limit of an answer, unless a request has its own. */
const usualMs = 300
const rounds = 5
/** Longer than the time for which answers are shared. */
const sharedMs = 1_000

export async function measure(open: () => Served, asked: Asked): Promise<Took> {
  const first: number[] = []
  const again: number[] = []
  for (let round = 0; round < rounds; round++) {
    const served = open()
    // So that the console has its connection.
    await timed(served, { name: 'ready', path: '/v1/health/ready' })
    first.push(await timed(served, asked))
    if (asked.isShared === true) await pause(sharedMs)
    again.push(await timed(served, asked))
    await served.close()
  }
  return tookOf(asked, first, again)
}

async function timed(served: Served, asked: Asked): Promise<number> {
  const { took, status, text } = await send(served, asked)
  // 503 means that a limit of the console was exceeded. It is far above the requests here, so the time shows it.
  if (status !== 200 && status !== 503) throw new Error(`${asked.name}: ${status} ${text}`)
  return took
}

/** As from a page of the console itself. */
const headers = { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin' }

async function send(
  served: Served,
  { path, body }: Asked,
): Promise<{ took: number; status: number; text: string }> {
  const request = new Request(`http://localhost${path}`, {
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body), headers }),
  })
  const start = performance.now()
  const response = await served.fetch(request)
  const text = await response.text()
  return { took: performance.now() - start, status: response.status, text }
}

function tookOf(
  { name, mayTakeMs = usualMs }: Pick<Asked, 'name' | 'mayTakeMs'>,
  first: readonly number[],
  again: readonly number[],
): Took {
  const worst = Math.max(...first, ...again)
  return { name, first: median(first), again: median(again), worst, mayTakeMs }
}

const topics = ['overview', 'workers', 'queue:queue-3']

/** The time until a viewer has a snapshot of every topic. */
export async function measureStream(open: () => Served): Promise<Took> {
  const first: number[] = []
  const again: number[] = []
  const shown = async (served: Served): Promise<number> => {
    const start = performance.now()
    const request = new Request(`http://localhost/v1/events?topics=${topics.join(',')}`)
    const reader = (await served.fetch(request)).body?.getReader()
    let count = 0
    while (count < topics.length) {
      const read = await reader?.read()
      if (read === undefined || read.done) throw new Error('the stream has ended')
      count += new TextDecoder().decode(read.value as Uint8Array).split('event: snapshot').length - 1
    }
    const took = performance.now() - start
    await reader?.cancel()
    return took
  }
  for (let round = 0; round < rounds; round++) {
    const served = open()
    await timed(served, { name: 'ready', path: '/v1/health/ready' })
    first.push(await shown(served))
    await pause(sharedMs)
    again.push(await shown(served))
    await served.close()
  }
  return tookOf({ name: 'events, first sight of three topics' }, first, again)
}

/** What the planner knew, and how long everything took then. */
export interface Condition {
  name: string
  took: Took[]
  crowd: Crowd
}

export interface Crowd {
  /** The most connections of the console, as the server counts them. */
  connections: number
  /** Requests that were answered, and those refused for lack of a connection. */
  answered: number
  refused: number
  worst: number
}

const atOnce = 50

/** Many concurrent requests, and one viewer of a stream. */
export async function measureCrowd(open: () => Served, db: Client, all: readonly Asked[]): Promise<Crowd> {
  // The server takes a moment to end the connections of closed consoles.
  while ((await connectionsOf(db)) > 0) await pause(10)
  const served = open()
  const stream = await served.fetch(new Request('http://localhost/v1/events?topics=overview,workers'))
  const crowd: Crowd = { connections: 0, answered: 0, refused: 0, worst: 0 }
  const progress = { isDone: false }
  const ask = async (asked: Asked | undefined): Promise<void> => {
    if (asked === undefined) return
    const { took, status } = await send(served, asked)
    crowd.worst = Math.max(crowd.worst, took)
    if (status === 200) crowd.answered++
    else crowd.refused++
  }
  const asking = Promise.all(Array.from({ length: atOnce }, (_, n) => ask(all[n % all.length]))).then(() => {
    progress.isDone = true
  })
  while (!progress.isDone) {
    crowd.connections = Math.max(crowd.connections, await connectionsOf(db))
    await pause(10)
  }
  await asking
  await stream.body?.cancel()
  await served.close()
  return crowd
}

/** The connections of consoles, as the server counts them. */
async function connectionsOf(db: Client): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::integer as count from pg_stat_activity
      where datname = current_database() and application_name in ('stint', 'stint listen')
        and backend_type = 'client backend'`,
  )
  return rows[0]?.count ?? 0
}
