import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { WhyScene } from './why-scene.ts'

const scene = new WhyScene()

test.each<[waits: unknown, says: string, startsInMs: number | undefined]>([
  [{ sleep: true }, 'sleeping until {end}', 300_000],
  [{ signals: [{ name: 'approved' }], sleep: true }, 'signal "approved", until {end}', undefined],
  // What a payload has to contain may be a part of the input.
  [{ signals: [{ name: 'paid', match: { card: '4242' } }] }, 'signal "paid"', undefined],
  [
    { signals: ['a', 'b', 'a', 'c', 'd', 'e', 'f', 'g'].map((name) => ({ name })) },
    'signal "a" or signal "b" or signal "c" or signal "d" or signal "e" or 2 more',
    undefined,
  ],
  [
    { parked: { reason: "it asks for 'x' where 'a' was recorded", tries: 2 } },
    "parked: it asks for 'x' where 'a' was recorded; tried again in 5m",
    300_000,
  ],
  [{ jobs: ['019a8c3e-7c1b-7d5e-9f4e-2a6b0c1d2e3f'] }, 'job …2e3f', undefined],
  [{ flows: { '019a8c3e-7c1b-7d5e-9f4e-2a6b0c1d2e3f': 'ended' } }, 'its children', undefined],
  // Another role may have written anything.
  [null, 'waiting, and its row does not say for what', undefined],
  [
    { signals: [7, { name: 8 }], jobs: { a: 1 }, flows: [], sleep: 'yes', parked: 'x' },
    'waiting, and its row does not say for what',
    undefined,
  ],
  [
    { parked: { reason: `\u001b[31m${'r'.repeat(300)}` } },
    `parked: \\x1b[31m${'r'.repeat(191)}…; tried again in 5m`,
    300_000,
  ],
])('dependencies: a waiting job, case %#', async (waits, says, startsInMs) => {
  const contract = scene.contract()
  await scene.worker(contract)
  const id = await scene.enqueue(contract)
  const [job] = await scene.query(
    `update stint.job
        set state = 'waiting', waits = $2, run_at = stint.now() + interval '5 min'
      where id = $1
     returning run_at as end`,
    [id, JSON.stringify(waits)],
  )
  const end = (job?.['end'] as Date).toISOString().replace('T', ' ').replace(/\.\d+/, '')
  expect(await scene.first(id)).toBe(`dependencies: ${says.replace('{end}', end)}`)
  expect((await scene.why(id)).startsInMs).toBe(startsInMs)
})

test('dependencies: a wait that is over, and one of a job in a flow', async () => {
  const contract = scene.contract()
  await scene.worker(contract)
  const id = await scene.enqueue(contract)
  await scene.query(
    `update stint.job
        set state = 'waiting', waits = '{"sleep": true}', run_at = stint.now() - interval '3 s'
      where id = $1`,
    [id],
  )
  expect(await scene.first(id)).toBe(
    `due: due 3s ago, not promoted: a worker of ${contract.queue} does that within a second`,
  )
  await scene.query(
    `update stint.job set waits = null, flow_id = gen_random_uuid(), run_at = stint.now() + interval '9 years' where id = $1`,
    [id],
  )
  expect(await scene.first(id)).toBe('dependencies: waiting for earlier jobs of its flow')
})

test('a caller that does not see all jobs learns neither which jobs it waits for nor how many', async () => {
  const contract = scene.contract()
  const id = await scene.enqueue(contract)
  await scene.query(
    `update stint.job set state = 'waiting', waits = $2, run_at = stint.now() + interval '1 h' where id = $1`,
    [id, JSON.stringify({ jobs: [randomUUID(), randomUUID()], flows: { a: 'ended', b: 'ended' } })],
  )
  const { predicates } = await scene.stint.why(id, { sees: () => true })
  expect(predicates.find(({ name }) => name === 'dependencies')?.says).toBe('other jobs or its children')
})
