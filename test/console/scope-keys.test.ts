/*
 * A host that forbids one key. It is a deny list: it allows every queue and every kind, so it decides job by job. The
 * jobs it denies share their queue, kind and correlation with jobs it allows.
 */
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { Identity } from '../../src/server.ts'
import { bury } from '../support/dead-letters.ts'
import { plantFlow } from '../support/planted-flow.ts'
import { ask, pathOf, requests, routes } from './scope-requests.ts'
import type { Planted, Side } from './scope-requests.ts'
import { keepLeases, plant, scopeScene } from './scope-scene.ts'

const scene = scopeScene()

const keyMark = 'zqhidden'
const can: NonNullable<Identity['can']> = (_, of) => of?.key !== `${keyMark}-key`
const shared: Side = {
  contract: defineJob({ kind: 'shared.kind', queue: 'shared' }),
  key: 'open',
  schedule: 'shared.nightly',
  error: 'no luck',
  group: 'dddddddddddddddd',
}
let open: Planted
let closed: Planted
beforeAll(async () => {
  open = await plant(scene, shared, 'sam')
  closed = { ...open, ...(await plantHidden()) }
  await keepLeases(scene)
})

/** Jobs with the hidden key in every state, and an operation over the whole queue. */
async function plantHidden(): Promise<Omit<Planted, 'worker'>> {
  const group = 'eeeeeeeeeeeeeeee'
  const { contract } = shared
  const { jobs } = await scene.stint.enqueueMany(
    contract,
    [1, 2, 3, 4, 5].map(() => ({ text: keyMark })),
    {
      key: `${keyMark}-key`,
      correlationId: 'shared',
    },
  )
  const ids = jobs.map(({ id }) => id) as [string, string, string, string, string]
  const [ready, running, dead, trashed, finished] = ids
  await scene.db.query(
    `update stint.job set state = 'running', worker_id = $2, lease_id = gen_random_uuid(), started_at = now() where id = $1`,
    [running, open.worker],
  )
  const error = { name: `${keyMark}Error`, message: `${keyMark} broke`, fingerprint: group }
  for (const id of [dead, trashed]) await bury(scene.db, id, { error, fingerprint: group })
  await scene.stint.dead.discard(trashed)
  await scene.stint.cancel(finished)
  await scene.db.query(
    `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job)
     values ($1, $2, 'transient', $3, $4, $4, now(), now(), $5)`,
    [group, contract.kind, error.name, error.message, dead],
  )
  await scene.db.query(
    `insert into stint.error_hour (fingerprint, hour, process, flush, failures, deaths)
     values ($1, date_trunc('hour', now()), $2, 1, 5, 3)`,
    [group, randomUUID()],
  )
  const as = scene.stint.as({ actor: `${keyMark}-ana`, role: 'operator', origin: 'cli' })
  const what = { where: 'queue:shared state:dead', reason: `${keyMark} reason` } as const
  const { id: operation } = await as.operations.start({ action: 'replay', ...what })
  await scene.db.query(`update stint.operation set state = 'stopped', note = $2 where id = $1`, [
    ...[operation, `${keyMark} note`],
  ])
  const { id: flow } = await plantFlow(scene.db, {
    ...{ queue: 'shared', kind: contract.kind, key: `${keyMark}-key`, name: `${keyMark}-flow` },
    nodes: [{ name: `${keyMark}-node`, jobs: ['dead'] }],
  })
  return { ready, running, dead, trashed, finished, operation, flow }
}

test.each(routes)('%s shows no job with a hidden key, and changes none', async (route) => {
  const served = scene.consoleOf(can)
  const hidden = [closed.ready, closed.running, closed.dead, closed.trashed, closed.finished]
  const rows = (): Promise<unknown> =>
    scene.db.query(
      `select id, state, priority, run_at, cancel_at, discarded_at from stint.jobs where id = any($1) order by id`,
      [hidden],
    )
  const before = await rows()
  // The hidden jobs by id, and everything by name that they share with others.
  for (const of of [closed, open])
    for (const sent of requests[route]?.(shared, of) ?? []) {
      if (route.startsWith('DELETE')) continue
      const answer = await ask(served, pathOf(route, shared, of), sent)
      expect(answer.text, JSON.stringify(sent)).not.toContain(keyMark)
      for (const id of hidden)
        if (!JSON.stringify([pathOf(route, shared, of), sent]).includes(id))
          expect(answer.text, JSON.stringify(sent)).not.toContain(id)
      expect(answer.status, `${JSON.stringify(sent)} ${answer.text}`).toBeLessThan(500)
      if (of === closed && route.includes('{id}')) expect(answer.status).toBe(404)
    }
  expect(await rows()).toEqual(before)
  const touched = await scene.db.query(
    `select operation_job.id from stint.operation_job join stint.operation on operation.id = operation_id
      where actor = 'scoped' and operation_job.id = any($1::uuid[])`,
    [hidden],
  )
  expect(touched).toEqual([])
})
