// Tests of the example's handlers, with nothing but `stint/testing`: docs/guides/testing.md.
import pg from 'pg'
import { testStint } from 'stint/testing'
import type { TestStint } from 'stint/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { chargeCard, closeBooks, resizeImage, sendMail, syncAccount } from './contracts.ts'
import { register } from './handlers.ts'

/** The handlers fail by chance; a test decides. */
const luck = vi.spyOn(Math, 'random')

async function open(): Promise<TestStint> {
  luck.mockReturnValue(0.2)
  const t = await testStint({ handlers: register, now: new Date('2027-03-01T12:00:10Z') })
  onTestFinished(() => t.close())
  return t
}

test('a charged order is marked together with its job; a declined card is a dead letter', async () => {
  const t = await open()
  const client = new pg.Client(t.url)
  await client.connect()
  await client.query('create table example_order (id integer primary key, charged_cents integer)')
  await client.query('insert into example_order values (1, null), (2, null)')

  await t.stint.enqueue(chargeCard, { orderId: 1, cents: 500 })
  expect(await t.drain()).toMatchObject({ succeeded: 1 })
  luck.mockReturnValue(0.01)
  const declined = await t.stint.enqueue(chargeCard, { orderId: 2, cents: 700 })
  expect(await t.drain()).toMatchObject({ dead: 1 })

  expect((await client.query('select charged_cents from example_order order by id')).rows).toEqual([
    { charged_cents: 500 },
    { charged_cents: null },
  ])
  expect(await t.stint.dead.get(declined.id)).toMatchObject({
    error: { message: 'card declined: do not honor' },
  })
  await client.end()
})

test('a mail that fails is sent two seconds later, a reminder after three days', async () => {
  const t = await open()
  const to = 'ana@example.com'
  luck.mockReturnValue(0.07)
  await t.stint.enqueue(sendMail, { to, template: 'welcome' })
  await t.stint.enqueue(sendMail, { to, template: 'reminder' }, { delay: '3d' })
  expect(await t.drain()).toMatchObject({ retrying: 1, succeeded: 0 })
  luck.mockReturnValue(0.2)
  await t.clock.advance('3s')
  expect(await t.drain()).toMatchObject({ succeeded: 1 })
  await t.clock.advance('3d')
  // And one job of each schedule.
  expect(await t.drain()).toMatchObject({ succeeded: 3 })
  await t.expectEnqueued(sendMail, { to }, { times: 2, queue: 'mail' })
})

test('an account that changes often is synchronised once; an image gets its URL', async () => {
  const t = await open()
  for (let change = 1; change <= 3; change++)
    await t.stint.enqueue(syncAccount, { account: 'ana' }, { delay: '5s' })
  const image = await t.stint.enqueue(resizeImage, { imageId: 'img-1', width: 200 })
  expect(await t.drain()).toMatchObject({ succeeded: 1 })
  await t.clock.advance('6s')
  expect(await t.drain()).toMatchObject({ succeeded: 1 })
  await t.expectEnqueued(syncAccount, { account: 'ana' }, { times: 1 })
  expect(await t.job(image.id)).toMatchObject({
    result: { url: 'https://images.example.com/img-1-200.webp' },
  })
})

test('the books of a day are closed at two in the night in Rome', async () => {
  const t = await open()
  await t.clock.set(new Date('2027-03-02T00:59:59Z'))
  await t.drain()
  await t.expectEnqueued(closeBooks, undefined, { times: 0 })
  await t.clock.advance('1s')
  await t.drain()
  await t.expectEnqueued(closeBooks, { day: '2027-03-01' }, { times: 1 })
})
