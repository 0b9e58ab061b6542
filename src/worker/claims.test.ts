import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { claimKeyedSql } from '../jobs/claim-keyed.sql.ts'
import { claimSql } from '../jobs/claim.sql.ts'
import { Claims } from './claims.ts'
import { resolveWorkerOptions } from './options.ts'
import { QueuePool } from './queue-pool.ts'

/** A database that answers each statement with what the test has for it, and keeps what was asked. */
function scene(answers: Record<string, (nth: number) => Promise<object[]> | object[]>) {
  const asked: { file: string; values: readonly unknown[] }[] = []
  const db = {
    schema: 'stint',
    query: async (text: string, values: readonly unknown[]) => {
      const file = /^\/\* (\S+) \*\//.exec(text)?.[1] ?? ''
      asked.push({ file, values })
      return (await answers[file]?.(asked.filter((one) => one.file === file).length)) ?? []
    },
  }
  const [config] = resolveWorkerOptions({ queues: { mail: 10 } }).queues
  if (config === undefined) throw new Error('There is no queue')
  return { asked, pool: new QueuePool(config), claims: new Claims({ db, workerId: 'w', kinds: '{}' }) }
}

const last = { runAt: '2026-01-01 00:00:00', id: '01a1e1c1-40c9-7000-a324-34b944f5fb5f' }

test('a long look raises the floor only over what a later claim has seen too', async () => {
  const { asked, pool, claims } = scene({
    'jobs/claim.sql': async (nth) => {
      if (nth === 1) await pause(20)
      return []
    },
    // A job that was stored between the claim and this look may be the one at the end.
    'jobs/tail.sql': () => [last],
  })
  const floors: unknown[] = []
  for (let n = 0; n < 3; n++) {
    pool.floors.hint(0)
    await claims.take(pool, 10, performance.now())
    floors.push(
      asked.findLast(({ file }) => file === 'jobs/claim.sql')?.values[claimSql.params.indexOf('floorAt')],
    )
  }
  expect(floors).toEqual(['-infinity', '-infinity', '2026-01-01 00:00:00+00'])
})

test('a round that is full of one key goes on behind it', async () => {
  const jobs = Array.from({ length: 4 }, (_, n) => ({ id: String(n), key: 'a' }))
  const { asked, pool, claims } = scene({ 'jobs/claim-keyed.sql': (nth) => (nth === 1 ? jobs : []) })
  pool.perKey = 4
  for (let n = 0; n < 3; n++) await claims.take(pool, 4, performance.now())
  const afterKey = claimKeyedSql.params.indexOf('afterKey')
  expect(asked.map(({ values }) => values[afterKey])).toEqual(['', 'a', ''])
})
