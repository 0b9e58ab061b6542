import { afterEach, describe, expect, test, vi } from 'vitest'
import { waitAfterMs } from '../../src/db/wait.ts'
import { Bell } from '../../src/jobs/wake-up/bell.ts'
import { Dispatcher } from '../../src/worker/claim/dispatcher.ts'
import type { DispatcherConfig } from '../../src/worker/claim/dispatcher.ts'
import type { Claims } from '../../src/worker/claim/claims.ts'
import { noRules } from '../../src/jobs/queue-rules.ts'
import { Pools } from '../../src/worker/claim/pools.ts'
import { resolveWorkerOptions } from '../../src/worker/options.ts'

afterEach(() => vi.restoreAllMocks())

describe('the wait after trouble', () => {
  test('the wait after trouble is random, below a bound that doubles from 0.2 s to half a minute', () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999_999)
    const bounds = Array.from({ length: 12 }, (_, failures) => Math.round(waitAfterMs(failures)))
    expect(bounds).toEqual([
      200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000, 30_000, 30_000,
    ])
    vi.spyOn(Math, 'random').mockReturnValue(0)
    expect(waitAfterMs(20)).toBe(0)
  })

  test('the wait after trouble spreads a fleet that returns together over the whole range', () => {
    const waits = Array.from({ length: 2_000 }, () => waitAfterMs(8))
    for (const tenth of Array.from({ length: 10 }).keys()) {
      const inTenth = waits.filter((wait) => Math.floor(wait / 3_000) === tenth)
      expect(inTenth.length).toBeGreaterThan(100)
      expect(inTenth.length).toBeLessThan(320)
    }
  })
})

test('after a failed claim no claim is sent before the wait is over, and hints do not shorten the wait', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
  let asked = 0
  const claims = {
    workerId: 'w',
    take: () => {
      asked++
      return Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))
    },
  } as unknown as Claims
  const troubles: unknown[] = []
  const worker = resolveWorkerOptions({ queues: { a: 5 } })
  const pools = new Pools(worker.queues, {
    servedIn: () => ({ batchSize: 1, ordering: 'none' }),
  })
  const pool = pools.get('a')
  pool?.rules.set(noRules, 0)
  const config = {
    worker,
    pools,
    bell: new Bell(),
    attempts: { tenure: { isOpen: true, claims } },
    claimReport: { failed: (_queue: string, error: unknown) => troubles.push(error) },
  } as unknown as DispatcherConfig
  const dispatcher = new Dispatcher(config)
  for (const [failures, boundMs] of [200, 400, 800, 1_600].entries()) {
    const now = Math.max(performance.now(), pool?.holdUntil ?? 0)
    const sentAt = performance.now()
    pool?.floors.hint(0)
    dispatcher.fill(now)
    await vi.waitFor(() => {
      expect(troubles).toHaveLength(failures + 1)
    }, 20_000)
    const holdUntil = pool?.holdUntil ?? 0
    expect(holdUntil - sentAt).toBeGreaterThanOrEqual(boundMs / 2)
    // Hints arrive as soon as producers are back.
    for (let hint = 0; hint < 10; hint++) {
      pool?.floors.hint(0)
      dispatcher.fill(holdUntil - 1)
    }
    expect(asked).toBe(failures + 1)
  }
})
