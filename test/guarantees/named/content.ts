import { expect } from 'vitest'
import { calm, createScene } from '../harness/scene.ts'
import type { Build } from '../harness/scene.ts'

/** A result that Postgres cannot hold is changed until it can, and the rest of it is kept. */
export async function hostileOutputs(build: Build): Promise<void> {
  const { db, ledger, stint, contract, worker } = await createScene(build)
  await worker('worker', calm)
  const { id } = await stint.enqueue(contract, { act: 'hostile' })
  await ledger.wrote({ name: 'succeeded', job: id })
  const [row] = await db.query('select state, result from stint.finished where id = $1', [id])
  expect(row).toEqual({ state: 'succeeded', result: { text: 'a\ufffdb\ufffd', kept: 1 } })
}

/** An ending that the database refuses does not affect the other endings of its batch. */
export async function settleBadRow(build: Build): Promise<void> {
  const { db, ledger, stint, contract, worker } = await createScene(build)
  await db.query(
    `create function refuse() returns trigger language plpgsql as
     $$ begin raise exception 'cannot hold it' using errcode = '22P05'; end $$`,
  )
  await db.query(
    `create trigger refuse before insert on stint.finished
       for each row when (new.result ->> 'value' = 'refused') execute function refuse()`,
  )
  // All handlers wait for one message, so that their endings go into one batch.
  const values = ['refused', 'good', 'good', 'good'] as const
  const one = await worker('worker', calm)
  const inputs = values.map((value) => ({ act: 'hold', value }))
  const { jobs } = await stint.enqueueMany(contract, inputs)
  await ledger.wroteMany({ type: 'start' }, jobs.length)
  one.tell('go')
  await ledger.wroteMany({ name: 'succeeded' }, jobs.length)
  const rows = await db.query<{ value: string; said: string | null }>(
    `select input ->> 'value' as value, result ->> 'value' as said from stint.finished order by id`,
  )
  expect(rows).toEqual(values.map((value) => ({ value, said: value === 'good' ? 'good' : null })))
}
