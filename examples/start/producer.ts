// An app that has work to do later. Runs as a process of its own; the database is DATABASE_URL.
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { isStintError, Stint } from 'stint'
import { chargeCard, renderReport, resizeImage, sendMail, syncAccount } from './contracts.ts'

const stint = new Stint()
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] })
const customers = ['ana', 'bo', 'cy', 'dee', 'eve'] as const
const pick = <Item>(items: readonly [Item, ...Item[]]): Item =>
  items[Math.floor(Math.random() * items.length)] ?? items[0]

/** Stores an order and the job that charges for it: both, or neither. */
async function placeOrder(): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const cents = 500 + Math.floor(Math.random() * 20_000)
    const { rows } = await client.query<{ id: number }>(
      'insert into example_order (customer, cents) values ($1, $2) returning id',
      [pick(customers), cents],
    )
    const orderId = rows[0]?.id ?? 0
    await stint.enqueue(chargeCard, { orderId, cents }, { tx: client, idempotencyKey: `order-${orderId}` })
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

async function welcome(): Promise<void> {
  const to = `${pick(customers)}@example.com`
  const job = await stint.enqueue(sendMail, { to, template: 'welcome' })
  await stint.enqueue(sendMail, { to, template: 'reminder' }, { delay: '3d', correlationId: job.id })
}

async function upload(): Promise<void> {
  const imageId = `img-${Math.floor(Math.random() * 10_000)}`
  await stint.enqueueMany(resizeImage, [
    { imageId, width: 200 },
    { imageId, width: 800 },
  ])
}

let reports = 0

/** Every 40th job kills its worker: after three crashes Stint quarantines that job. */
async function report(): Promise<void> {
  await stint.enqueue(renderReport, { reportId: ++reports, isPoison: reports % 40 === 3 })
}

async function touchAccount(): Promise<void> {
  await stint.enqueue(syncAccount, { account: pick(customers) }, { delay: '5s' })
}

/** Bad input is refused; the error says what is wrong with it. */
async function mistake(): Promise<void> {
  await stint.enqueue(sendMail, { to: 'not an address', template: 'receipt' })
}

const acts = [placeOrder, welcome, upload, report, touchAccount, mistake] as const
const stopped = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    stopped.abort()
  })
}

await pool.query(`create table if not exists example_order (
  id integer generated always as identity primary key, customer text not null, cents integer not null,
  charged_cents integer)`)
while (!stopped.signal.aborted) {
  try {
    await pick(acts)()
  } catch (error) {
    if (!isStintError(error, 'invalid-input')) throw error
    process.send?.({ refused: error.message })
  }
  await pause(150)
}
await stint.close()
await pool.end()
