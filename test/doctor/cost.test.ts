import { afterAll, beforeAll, expect, test } from 'vitest'
import { render } from '../../src/db/statement.ts'
import { kindsSql } from '../../src/doctor/checks/kinds.sql.ts'
import { liveQueuesSql } from '../../src/doctor/live-queues.sql.ts'
import { connectTo, createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { touchedBlocks } from '../support/plan.ts'
import type { Explained } from '../support/plan.ts'
import { plantWorker } from './scene.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
  await db.query(
    `insert into stint.job (id, queue, kind, key, state, run_at)
     select gen_random_uuid(), (array['large', 'small'])[1 + (n = 1)::integer], 'k',
            case when n % 4 = 0 then 'key' || n % 100 end,
            (array['ready', 'ready', 'scheduled', 'waiting'])[1 + n % 4]::stint.job_state, stint.now()
       from generate_series(1, 100000) as n`,
  )
  await plantWorker(db, { queues: { large: 1, small: 1 }, kinds: ['other'] })
})
afterAll(() => db.drop())

test.each(['without statistics', 'with statistics'])(
  '%s, the doctor reads only a few of a hundred thousand jobs',
  async (how) => {
    if (how === 'with statistics') await db.query('vacuum analyze stint.job')
    const client = await connectTo(db.url)
    await client.query('set plan_cache_mode = force_generic_plan')
    const blocks = async (text: string, values: string): Promise<number> => {
      await client.query(`prepare probe as ${text}`)
      const { rows } = await client.query<{ 'QUERY PLAN': [Explained] }>(
        `explain (analyze, buffers, format json) execute probe (${values})`,
      )
      await client.query('deallocate probe')
      return touchedBlocks(rows[0]?.['QUERY PLAN'][0] as Explained)
    }
    expect(await blocks(render(liveQueuesSql, 'stint'), '500, 1000')).toBeLessThan(200)
    // At most a block for each sampled job, and the index pages that lead to it.
    expect(await blocks(render(kindsSql, 'stint'), `'{large,small}', 200`)).toBeLessThan(2_000)
  },
)
