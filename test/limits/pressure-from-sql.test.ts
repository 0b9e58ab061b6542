import { expect, test } from 'vitest'
import { newName, workerScene } from '../support/workers.ts'

const scene = workerScene()

async function setRule(queue: string, rule: object): Promise<void> {
  await scene.db.query('insert into stint.queue (name, pressure) values ($1, $2)', [
    queue,
    JSON.stringify(rule),
  ])
}

function enqueue(queue: string, options: object = {}): Promise<unknown> {
  return scene.db.query('select stint.enqueue($1, $2, $3, $4)', [
    ...[queue, 'sql.job', '{}', JSON.stringify(options)],
  ])
}

test('stint.enqueue() refuses a job of a full queue, by its own count', async () => {
  const queue = newName()
  await setRule(queue, { maxDepth: 2, whenFull: 'reject' })
  await enqueue(queue)
  await enqueue(queue, { delay: '1h' })
  await expect(enqueue(queue)).rejects.toMatchObject({ code: 'ST005', detail: 'depth 2 of 2' })
})

test('stint.enqueue() decides by the last count if that is new', async () => {
  const queue = newName()
  await setRule(queue, { maxDepth: 2, whenFull: 'reject' })
  await scene.stint.pressure(queue)
  for (let jobs = 0; jobs < 3; jobs++) await enqueue(queue)
  await scene.db.query(
    `update stint.queue_pressure set counted_at = stint.now() - interval '5 seconds' where queue = $1`,
    [queue],
  )
  await expect(enqueue(queue)).rejects.toMatchObject({ code: 'ST005' })
})

test('stint.enqueue() sheds the lowest priority first', async () => {
  const queue = newName()
  await setRule(queue, { maxDepth: 4, whenFull: 'shed' })
  for (let jobs = 0; jobs < 2; jobs++) await enqueue(queue)
  await expect(enqueue(queue, { priority: -100 })).rejects.toMatchObject({ code: 'ST005' })
  await enqueue(queue)
  await expect(enqueue(queue)).rejects.toMatchObject({ code: 'ST005' })
  await enqueue(queue, { priority: 100 })
  await expect(enqueue(queue, { priority: 100 })).rejects.toMatchObject({ code: 'ST005' })
})

test('stint.enqueue() refuses a job of a full key, and of a queue whose jobs are too old', async () => {
  const queue = newName()
  await setRule(queue, { keyMaxDepth: 1, maxAgeMs: 60_000, whenFull: 'reject' })
  await enqueue(queue, { key: 'a' })
  await expect(enqueue(queue, { key: 'a' })).rejects.toMatchObject({
    code: 'ST005',
    detail: 'key "a": depth 1 of 1',
  })
  await enqueue(queue, { key: 'b' })
  await scene.db.query(`update stint.job set run_at = run_at - interval '2 minutes' where queue = $1`, [
    queue,
  ])
  await expect(enqueue(queue, { key: 'c' })).rejects.toMatchObject({ code: 'ST005' })
})

test('stint.enqueue() stores everything where the rule says warn', async () => {
  const queue = newName()
  await setRule(queue, { maxDepth: 1, whenFull: 'warn' })
  await enqueue(queue)
  await enqueue(queue)
})

test('stint.enqueue() refuses a job of a closed queue at once', async () => {
  const queue = newName()
  await enqueue(queue)
  await scene.stint.queues.drain(queue, { reason: 'moved' })
  await expect(enqueue(queue)).rejects.toMatchObject({ code: 'ST006', detail: 'moved' })
  await scene.stint.queues.open(queue)
  await enqueue(queue)
})
