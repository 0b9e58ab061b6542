/*
 * The cost of an idle worker for the database: every statement of its process, from heartbeat, polls and upkeep.
 */
import { expect, test } from 'vitest'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { eventually, newJob, startFor, workerScene } from '../support/workers.ts'

const scene = workerScene()

/** Resolves when the leader has renewed its term this many times; it does so about every 10 s. */
async function renewals(times: number): Promise<void> {
  for (let left = times, last = await term(); left > 0; left--, last = await term())
    await eventually(async () => (await term()) !== last, 'a renewal of the term')
}

async function term(): Promise<string | undefined> {
  const [row] = await scene.db.query<{ until: string }>('select until::text from stint.leader')
  return row?.until
}

// Not in the lanes: with a pooler or without NOTIFY the worker sends other statements.
test.skipIf(process.env['STINT_TEST_LANE'] !== undefined)(
  'an idle worker sends fewer than two statements a second, even as leader',
  async () => {
    const job = newJob('idle')
    const options = { pollFloor: '1s' } as const
    const leader = await startFaultProxy(scene.db.url)
    await startFor(scene, job, () => undefined, { ...options, connection: leader.url })
    // Its first turn runs every service, because none has run before.
    const services = [
      'partitions',
      'old-days',
      'short-kept',
      'dead-letters',
      'expired',
      'gauges',
      'roll-up',
      'old-numbers',
    ]
    await eventually(async () => {
      const { upkeep } = await scene.stint.status()
      return services.every((name) =>
        upkeep.services.some((one) => one.name === name && one.lastOkAt !== null),
      )
    }, 'every service done')
    const other = await startFaultProxy(scene.db.url)
    await startFor(scene, job, () => undefined, { ...options, connection: other.url })
    // The polls slow down to their floor first.
    await renewals(1)
    const proxies = [leader, other]
    const before = proxies.map(({ statements }) => statements)
    const since = performance.now()
    await renewals(3)
    const seconds = (performance.now() - since) / 1_000
    const rates = proxies.map(({ statements }, n) => (statements - (before[n] ?? 0)) / seconds)
    if (process.env['SHOW'] !== undefined) console.log(rates)
    for (const rate of rates) expect(rate).toBeLessThan(2)
  },
  180_000,
)
