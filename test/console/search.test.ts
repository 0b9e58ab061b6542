import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineJob, Stint } from '../../src/index.ts'
import { createTestDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { bury } from '../support/dead-letters.ts'

let db: TestDatabase
let stint: Stint
beforeAll(async () => {
  db = await createTestDatabase()
  stint = new Stint({ connection: db.url })
})
afterAll(async () => {
  await stint.close()
  await db.drop()
})

const charge = defineJob({
  kind: 'charge.capture',
  queue: 'billing',
  search: (input) => ({ country: String((input as { country?: string }).country) }),
})
const refund = defineJob({ kind: 'charge.refund', queue: 'billing' })
const mail = defineJob({ kind: 'mail.send', queue: 'mail' })

async function found(where: string): Promise<string[]> {
  const { jobs } = await stint.search({ where, limit: 200 })
  return jobs.map(({ id }) => id)
}

describe('a search', () => {
  const ids: Record<string, string> = {}
  const workerId = randomUUID()
  beforeAll(async () => {
    const make = async (name: string, ...args: Parameters<typeof stint.enqueue>): Promise<void> => {
      ids[name] = (await stint.enqueue(...args)).id
    }
    await make('ready', charge, { country: 'BR' }, { key: 'acme' })
    await make('scheduled', refund, {}, { delay: '1h', priority: 5 })
    await make('running', mail, {})
    await make('retrying', mail, {}, { correlationId: 'order-7' })
    await make('cancelled', mail, {}, { correlationId: 'order-7' })
    await make('brazil', charge, { country: 'BR' }, { key: 'acme' })
    await make('italy', charge, { country: 'IT' }, { key: 'two words, one comma' })
    await make('trash', charge, { country: 'BR' })
    await make('replaced', refund, {})
    await db.query(
      `update stint.job set state = 'running', worker_id = $2, lease_id = gen_random_uuid(), epoch = 1 where id = $1`,
      [ids['running'], workerId],
    )
    await db.query(`update stint.job set state = 'retrying', epoch = 1 where id = $1`, [ids['retrying']])
    await stint.cancel(ids['cancelled'] ?? '', { reason: 'customer left' })
    await bury(db, ids['brazil'] ?? '', {
      fingerprint: 'b02c9e51aaaaaaaa',
      error: { name: 'CardDeclined', message: 'do not honor' },
    })
    await bury(db, ids['italy'] ?? '', { fingerprint: 'b02cffffffffffff', reason: 'permanent' })
    await bury(db, ids['trash'] ?? '', { fingerprint: '77e0000000000000' })
    await bury(db, ids['replaced'] ?? '', { fingerprint: '77e0000000000000' })
    await stint.dead.discard(ids['trash'] ?? '')
    await stint.dead.replay(ids['replaced'] ?? '', { contract: refund, input: { n: 1 } })
    ids['new'] = (await stint.get(ids['replaced'] ?? ''))?.replacedBy ?? ''
  })

  test.each([
    ['', ['new', 'italy', 'brazil', 'cancelled', 'retrying', 'running', 'scheduled', 'ready']],
    ['state:dead', ['italy', 'brazil']],
    ['state:running', ['running']],
    ['state:retrying,scheduled', ['retrying', 'scheduled']],
    ['state:cancelled', ['cancelled']],
    ['queue:billing', ['new', 'italy', 'brazil', 'scheduled', 'ready']],
    ['queue:mail state:running,retrying', ['retrying', 'running']],
    ['queue:nobody', []],
    ['kind:charge.*', ['new', 'italy', 'brazil', 'scheduled', 'ready']],
    ['kind:charge.capture state:dead', ['italy', 'brazil']],
    ['kind:charge.*,mail.send state:dead', ['italy', 'brazil']],
    ['kind:charge_capture', []],
    ['key:acme', ['brazil', 'ready']],
    ['key:acme state:dead', ['brazil']],
    ['key:"two words, one comma"', ['italy']],
    ['error:b02c', ['italy', 'brazil']],
    ['error:b02c9e51', ['brazil']],
    ['error:b02c9e51,b02cff', ['italy', 'brazil']],
    ['error:dddd', []],
    ['error:77e0 is:discarded', ['trash']],
    ['is:discarded', ['trash']],
    ['is:replaced', ['replaced']],
    ['reason:permanent', ['italy']],
    ['reason:"customer left"', ['cancelled']],
    ['correlation:order-7', ['cancelled', 'retrying']],
    ['input.country:BR', ['brazil', 'ready']],
    ['input.country:BR,IT state:dead', ['italy', 'brazil']],
    ['input.country:FR', []],
    ['priority:5', ['scheduled']],
    ['age>1h', []],
    ['age<1h state:dead', ['italy', 'brazil']],
    ['age<1h age>0s queue:mail', ['cancelled', 'retrying', 'running']],
  ])('a search for %j finds the matching jobs, newest first', async (where, names) => {
    expect(await found(where)).toEqual(names.map((name) => ids[name]))
  })

  test('a search by worker or by id finds jobs in every state', async () => {
    expect(await found(`worker:${workerId}`)).toEqual([ids['running']])
    expect(await found(`id:${ids['trash'] ?? ''},${ids['replaced'] ?? ''},${randomUUID()}`)).toEqual([
      ids['replaced'],
      ids['trash'],
    ])
    expect(await found(`id:${ids['trash'] ?? ''} state:ready`)).toEqual([])
  })

  test('a search by the end of an id, as screens show it, finds jobs in every state', async () => {
    const endOf = (name: string, length: number): string => (ids[name] ?? '').slice(-length)
    for (const name of ['running', 'cancelled', 'brazil', 'trash']) {
      expect(await found(`id:${endOf(name, 12)}`), name).toEqual([ids[name]])
      expect(await found(`id:…${endOf(name, 4)}`), name).toContain(ids[name])
    }
    expect(await found(`id:${endOf('brazil', 12)} state:ready`)).toEqual([])
    const as = stint.as({ actor: 'ana', role: 'operator', origin: 'cli' })
    const where = `id:${endOf('brazil', 12)}`
    const { matched } = await as.operations.preview({ action: 'discard', where })
    expect(matched).toEqual({ count: 1, isExact: true })
  })

  test('a search for a search word that no job has is refused, also in an operation', async () => {
    const refusal = {
      code: 'invalid-option',
      message: expect.stringContaining(
        'Unknown filter "input.city:": no job has this search field',
      ) as string,
    }
    const where = 'input.country:BR input.city:Rio'
    await expect(stint.search({ where })).rejects.toMatchObject(refusal)
    const as = stint.as({ actor: 'ana', role: 'operator', origin: 'cli' })
    await expect(as.operations.preview({ action: 'cancel', where })).rejects.toMatchObject(refusal)
    // A known word with a value that no job has is a filter that finds nothing.
    expect(await found('input.country:XX')).toEqual([])
  })

  test('a search shows the error of a dead letter, and how far it looked', async () => {
    const page = await stint.search({ where: 'error:b02c9e51' })
    expect(page.jobs).toMatchObject([
      { error: { name: 'CardDeclined', message: 'do not honor', group: 'b02c9e51aaaaaaaa' } },
    ])
    expect(page).toMatchObject({ next: undefined, looked: { isComplete: true } })
    expect(page.asOf).toBeInstanceOf(Date)
  })

  test('a search goes on page by page, and gives each job once', async () => {
    for (const where of ['', 'queue:billing', 'kind:charge.*', 'state:dead']) {
      const all: string[] = []
      let cursor: string | undefined
      do {
        const page = await stint.search({ where, limit: 1, cursor })
        all.push(...page.jobs.map(({ id }) => id))
        cursor = page.next
      } while (cursor !== undefined)
      expect(all, where).toEqual(await found(where))
    }
  })

  test('a search with an unknown filter is refused', async () => {
    await expect(stint.search({ where: 'sate:dead' })).rejects.toMatchObject({
      code: 'invalid-option',
      message: expect.stringContaining('Did you mean "state:"?') as string,
    })
    await expect(stint.search({ cursor: 'x' })).rejects.toMatchObject({ code: 'invalid-option' })
  })
})

test('a rare match behind many jobs is found, or the answer says how far it looked', async () => {
  await db.query(
    `insert into stint.job (id, queue, kind, created_at)
     select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint + n), 12, '0') || '7000800000000000' || lpad(to_hex(n), 4, '0'))::uuid,
            'many', 'many.work', now()
       from generate_series(1, 60000) as n`,
  )
  const { jobs, next, looked } = await stint.search({ where: 'kind:nothing.like.it' })
  expect({ jobs, looked }).toMatchObject({ jobs: [], looked: { isComplete: false } })
  expect(looked.rows).toBeLessThanOrEqual(60_000)
  expect(next).toBeDefined()
  // By the index of its state, behind sixty thousand newer jobs.
  expect((await stint.search({ where: 'state:running' })).jobs).toHaveLength(1)
  expect((await stint.search({ where: 'queue:mail state:running,retrying,ready' })).jobs).toHaveLength(2)
  // Frequent matches are found in the window.
  expect((await stint.search({ where: 'queue:many state:ready' })).jobs).toHaveLength(50)
})
