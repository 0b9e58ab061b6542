import pg from 'pg'
import { percentile } from '../statistics.ts'
import { countRows } from '../systems/count-rows.ts'
import type { Session } from '../systems/system.ts'
import type { Measure, Sample } from './order.ts'
import { assertStored } from './stored.ts'

/** Small transactions of the user, each with an enqueue inside, or without one if the session has none to offer. */
export async function measureTransactions(
  session: Session,
  { clients, warmUpMs, durationMs }: Extract<Measure, { type: 'transactions' }>,
  url: string,
): Promise<Sample> {
  const connected = Array.from({ length: clients }, () => new pg.Client({ connectionString: url }))
  await Promise.all(connected.map((client) => client.connect()))
  try {
    const [first] = connected
    await first?.query(
      'create table app_note (id bigint generated always as identity primary key, body text not null)',
    )
    const warmUp = await commit(session, connected, warmUpMs)
    const { latencies, seconds } = await commit(session, connected, durationMs)
    const commits = warmUp.latencies.length + latencies.length
    const notes = await countRows(url, 'app_note')
    if (notes !== commits)
      throw new Error(`${commits} transactions committed, but the app's table has ${notes} rows`)
    return {
      figure: latencies.length / seconds,
      count: latencies.length,
      seconds,
      stored: await assertStored(session, session.enqueueInTx ? commits : 0),
      p50Ms: percentile(latencies, 0.5),
      p99Ms: percentile(latencies, 0.99),
    }
  } finally {
    await Promise.all(connected.map((client) => client.end()))
  }
}

async function commit(session: Session, clients: readonly pg.Client[], durationMs: number) {
  const latencies: number[] = []
  const startedAt = performance.now()
  const endsAt = startedAt + durationMs
  let n = 0
  const user = async (client: pg.Client): Promise<void> => {
    for (let askedAt = performance.now(); askedAt < endsAt;) {
      await client.query('begin')
      await client.query('insert into app_note (body) values ($1)', ['a note of the app'])
      await session.enqueueInTx?.(client, { n: n++ })
      await client.query('commit')
      const answeredAt = performance.now()
      latencies.push(answeredAt - askedAt)
      askedAt = answeredAt
    }
  }
  await Promise.all(clients.map(user))
  return { latencies, seconds: (performance.now() - startedAt) / 1000 }
}
