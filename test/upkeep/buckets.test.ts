import { afterAll, beforeAll, expect, test } from 'vitest'
import { newRate } from '../limits/rates-scene.ts'
import { openRetentionScene } from './retention-scene.ts'
import type { RetentionScene } from './retention-scene.ts'

let scene: RetentionScene
beforeAll(async () => {
  scene = await openRetentionScene()
})
afterAll(() => scene.close())

test('buckets that are full again and not in use are removed, and what they counted stays', async () => {
  const rate = await newRate(scene, { tokens: 10, per: '1h', burst: 100, by: 'key' })
  const limit = scene.stint.limit(rate.name)
  await limit.take(5, { key: 'quick' })
  await limit.take(50, { key: 'slow' })
  await limit.penalise('1d', { key: 'closed' })
  const keys = async (): Promise<string[]> => {
    await scene.upkeep.pass('expired')
    const rows = await scene.db.query<{ key: string }>(
      'select key from stint.rate_bucket where name = $1 order by key',
      [rate.name],
    )
    return rows.map(({ key }) => key)
  }
  // Full again after half an hour, but used within the last hour.
  await scene.clock.advance('40 minutes')
  expect(await keys()).toEqual(['closed', 'quick', 'slow'])
  await scene.clock.advance('30 minutes')
  expect(await keys()).toEqual(['closed', 'slow'])
  await scene.clock.advance('5 hours')
  expect(await keys()).toEqual(['closed'])
  await scene.clock.advance('20 hours')
  expect(await keys()).toEqual([])
  const [counted] = await scene.db.query<{ taken: number }>('select taken from stint.rate where name = $1', [
    rate.name,
  ])
  expect(counted?.taken).toBe(55)
  expect(await limit.tryTake(100, { key: 'quick' })).toEqual({ granted: true, retryAfterMs: 0 })

  await scene.db.query('delete from stint.rate where name = $1', [rate.name])
  expect(await keys()).toEqual([])
  expect(scene.upkeep.passedBy).toEqual([])
})
