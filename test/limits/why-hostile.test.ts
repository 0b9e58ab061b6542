import { expect, test } from 'vitest'
import { WhyScene } from './why-scene.ts'

const scene = new WhyScene()

test('hostile rows of workers, pauses and statistics give sentences and no error', async () => {
  const contract = scene.contract()
  const id = await scene.enqueue(contract, { key: 'k' })
  for (const about of [
    { queues: [contract.queue] },
    { queues: { [contract.queue]: 'many' }, versions: 7, failing: { a: 1 } },
  ])
    await scene.query(
      `insert into stint.worker (id, lease_until, about) values (gen_random_uuid(), 'infinity', $1)`,
      [JSON.stringify(about)],
    )
  await scene.query(
    `insert into stint.pause (queue, kind, paused_by, paused_until, reason) values ($1, $2, $3, 'infinity', $4)`,
    [contract.queue, contract.kind, '\u001b[31mx', 'r'.repeat(2_000)],
  )
  await scene.query(
    `insert into stint.stat_minute (minute, queue, kind, process, flush, started, run)
     values (date_trunc('minute', stint.now()), $1, $2, gen_random_uuid(), 1, -5, '[1, "x"]')`,
    [contract.queue, contract.kind],
  )
  const { first, predicates } = await scene.why(id)
  expect(first).toBe('open')
  expect(predicates.find(({ name }) => name === 'open')?.says).toContain('\\x1b[31mx')
})
