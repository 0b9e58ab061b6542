import { expect, test } from 'vitest'
import { flow } from '../../src/index.ts'
import { park, plantFlow } from '../support/planted-flow.ts'
import { clientOf, look, lookAt, mail, newDatabase } from './scene.ts'

const nodes = [
  { name: 'first', jobs: ['dead'] },
  { name: 'second', jobs: ['waiting'], after: [0] },
] as const

test('the doctor names parked jobs', async () => {
  const db = await newDatabase()
  expect(await lookAt(db.url, 'parked')).toMatchObject({ level: 'ok' })
  const { id } = await clientOf(db).enqueue(mail)
  await park(db, id)
  await plantFlow(db, { ...mail, nodes })
  const found = await lookAt(db.url, 'parked')
  expect(found).toMatchObject({ level: 'warn', fix: `stint job steps ${id}` })
  expect(found.title).toBe('A job is parked: its steps have changed')
  expect(found.detail).toContain('Of mail.send, the first is')
})

test('the doctor names flows that are held for a day, and no others', async () => {
  const db = await newDatabase()
  const { id } = await plantFlow(db, { ...mail, nodes, name: 'checkout' })
  await plantFlow(db, { ...mail, nodes, name: 'young' })
  await plantFlow(db, { ...mail, nodes: [...nodes, { name: 'beside', jobs: ['ready'] }], name: 'goes on' })
  expect(await lookAt(db.url, 'held-flows')).toMatchObject({ level: 'ok' })
  await db.query(`update stint.flow set created_at = now() - interval '3 days' where name <> 'young'`)
  await db.query(`update stint.dead set died_at = now() - interval '2 days'`)
  expect(await lookAt(db.url, 'held-flows')).toMatchObject({
    level: 'warn',
    title: 'A flow is held',
    detail: expect.stringContaining('checkout for 2d') as string,
    fix: `stint flow replay ${id}`,
  })
})

test('the doctor notices endings that are not counted, and counts that differ', async () => {
  const db = await newDatabase()
  const { id, jobs } = await plantFlow(db, { ...mail, nodes, name: 'checkout' })
  // An open batch is counted right, too.
  await clientOf(db).flows.open(flow('batch').jobs('rows', mail, [null]))
  const [first] = [await look(db.url, { only: ['flow-endings', 'flow-counts'] })]
  expect(Object.values(first).map(({ level }) => level)).toEqual(['ok', 'ok'])
  await db.query(`delete from stint.job where id = $1`, [jobs[1]?.[0]])
  expect(await lookAt(db.url, 'flow-counts')).toMatchObject({
    level: 'warn',
    detail: expect.stringContaining('second of checkout') as string,
    fix: `stint flow get ${id}`,
  })
  await db.query(
    `insert into stint.flow_ending (flow_id, node, cancelled, written_at) values ($1, 1, 1, now() - interval '1 minute')`,
    [id],
  )
  const found = await look(db.url, { only: ['flow-endings', 'flow-counts'] })
  expect(found['flow-endings']).toMatchObject({
    level: 'warn',
    detail: expect.stringContaining(`1 endings wait, the oldest for 1m, of flow ${id}`) as string,
  })
  // What is not counted yet is no difference.
  expect(found['flow-counts']).toMatchObject({ level: 'ok' })
})
