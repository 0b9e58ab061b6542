import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, Stint } from '../src/index.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { form } from './support/form.ts'

const job = defineJob({ kind: 'race.run', queue: 'race' })
const racers = 100
const keys = form === 'short' ? 100 : 1_000

let db: TestDatabase
let clients: Stint[]
beforeAll(async () => {
  db = await createTestDatabase()
  // Ten clients with connections of their own, ten racers in each.
  clients = Array.from({ length: 10 }, () => new Stint({ connection: db.url, poolSize: 4 }))
})
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()))
  await db.drop()
})

/** Every racer enqueues under every key, each in its own order. Returns the ids that they got, by key. */
async function race(run: (stint: Stint, key: string) => Promise<string>): Promise<Map<string, Set<string>>> {
  const told = new Map<string, Set<string>>()
  const racer = async (number: number): Promise<void> => {
    const stint = clients[number % clients.length]
    if (stint === undefined) return
    const order = Array.from({ length: keys }, (_, n) => `key-${(n * 7 + number * 31) % keys}`)
    await Promise.all(
      order.map(async (key) => {
        const id = await run(stint, key)
        told.set(key, (told.get(key) ?? new Set()).add(id))
      }),
    )
  }
  await Promise.all(Array.from({ length: racers }, (_, number) => racer(number)))
  return told
}

async function storedIn(queue: string): Promise<number> {
  const [row] = await db.query<{ jobs: number }>(
    'select count(*)::integer as jobs from stint.jobs where queue = $1',
    [queue],
  )
  return row?.jobs ?? -1
}

test(`${racers} racers × ${keys} unique keys make exactly ${keys} jobs, and all racers get the same ids`, async () => {
  const told = await race(
    async (stint, key) => (await stint.enqueue(job, { key }, { queue: 'unique', unique: { key } })).id,
  )
  expect(await storedIn('unique')).toBe(keys)
  expect(told.size).toBe(keys)
  expect([...told.values()].every((ids) => ids.size === 1)).toBe(true)
})

test(`${racers} racers × ${keys} idempotency keys make exactly ${keys} jobs, and all racers get the same ids`, async () => {
  const told = await race(
    async (stint, key) =>
      (await stint.enqueue(job, { key }, { queue: 'idempotent', idempotencyKey: key })).id,
  )
  expect(await storedIn('idempotent')).toBe(keys)
  expect([...told.values()].every((ids) => ids.size === 1)).toBe(true)
})

test('racers that replace each other leave one job with the input of one of them', async () => {
  const [first = new Stint()] = clients
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, n) =>
      (clients[n % clients.length] ?? first).enqueue(
        job,
        { n },
        { queue: 'replace', unique: { key: 'a', onConflict: 'replace' } },
      ),
    ),
  )
  expect(new Set(results.map(({ id }) => id)).size).toBe(1)
  expect(results.filter(({ duplicate }) => !duplicate)).toHaveLength(1)
  expect(await storedIn('replace')).toBe(1)
})
