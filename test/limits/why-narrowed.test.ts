import { afterAll, expect, test } from 'vitest'
import { createConsole } from '../../src/server.ts'
import type { Identity } from '../../src/server.ts'
import { call } from '../console/scene.ts'
import { newName } from '../support/workers.ts'
import { WhyScene } from './why-scene.ts'

const scene = new WhyScene()
const closing: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const close of closing) await close()
})

/** The answer to a caller that the host narrows. */
async function whyFor(can: NonNullable<Identity['can']>, id: string): Promise<string> {
  const served = createConsole({
    connection: scene.url,
    auth: () => ({ actor: 'scoped', role: 'viewer', can }),
  })
  closing.push(served.close)
  return (await call(served, `GET /v1/jobs/${id}/why`)).text
}

test('a narrowed caller sees neither hidden holders nor how many they are', async () => {
  const [mine, theirs] = [scene.contract(), scene.contract('zqsecret.kind')]
  const worker = await scene.worker(mine)
  const name = newName('group')
  await scene.query(`insert into stint.concurrency_limit (name, max) values ($1, 2)`, [name])
  for (const { queue } of [mine, theirs]) {
    await scene.query(
      `insert into stint.limit_cover (queue, type, name, since) values ($1, 'concurrency', $2, stint.now() - interval '1 h')`,
      [queue, name],
    )
    await scene.query(`insert into stint.queue (name, is_limited) values ($1, true)`, [queue])
    await scene.query(`select stint.rebase($1)`, [queue])
  }
  const [own, hidden, id] = [
    await scene.enqueue(mine),
    await scene.enqueue(theirs),
    await scene.enqueue(mine),
  ]
  await scene.run(own, worker, 5)
  await scene.run(hidden, worker)
  const all = await scene.why(id)
  expect(JSON.stringify(all)).toContain(hidden)
  const shown = await whyFor((_, of) => of?.queue !== theirs.queue, id)
  expect(shown).toContain(`${name} is full, held by …${own.slice(-4)}`)
  expect(shown).toContain('and others')
  expect(shown).toContain(own)
  for (const secret of [hidden, hidden.slice(-4), 'zqsecret', theirs.queue, '2/2'])
    expect(shown).not.toContain(secret)
  const none = await whyFor((_, of) => of?.queue !== theirs.queue, hidden)
  expect(JSON.parse(none)).toMatchObject({ status: 404 })
})

test('a caller that may see one key learns nothing of the other keys: neither order, slots nor turn', async () => {
  const contract = scene.contract()
  const worker = await scene.worker(contract, { slots: 1 })
  const hidden = await scene.enqueue(contract, { key: 'zqother' })
  const id = await scene.enqueue(contract, { key: 'mine' })
  const can: NonNullable<Identity['can']> = (_, of) => of === undefined || of.key === 'mine'
  const first = JSON.parse(await whyFor(can, id)) as { predicates: { name: string; says: string }[] }
  expect(first.predicates.find(({ name }) => name === 'turn')?.says).toBe(
    'other jobs of its queue come first',
  )
  await scene.run(hidden, worker)
  const full = await whyFor(can, id)
  expect(full).toContain('"says":"no slot is free"')
  expect(full).not.toContain(hidden.slice(-4))
})
