import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { endLease, spawnWorker } from '../../support/worker-process.ts'
import { plantRunning, plantWorker } from '../harness/planted.ts'
import { calm, createScene, sweeper } from '../harness/scene.ts'
import type { Build } from '../harness/scene.ts'

/** A job that had not begun when its worker was lost is given back unchanged, even one crash before its quarantine. */
export async function crashBystander(build: Build): Promise<void> {
  const scene = await createScene(build)
  const { db, ledger, worker } = scene
  const lost = await plantWorker(db, { renewed: '1 hour', lease: '1 second', isLost: true })
  const neverBegan = await plantRunning(scene, lost)
  const beganBefore = await plantRunning(scene, lost)
  await db.query('update stint.job set crashes = 2, suspect = true')
  // It began under an earlier lease, so it did not cause the end of this one.
  await db.query('update stint.job set begun_lease = $2 where id = $1', [beganBefore, randomUUID()])
  await worker('sweeper', { ...sweeper, crashLimit: 3 })
  await ledger.wrote({ name: 'swept' })
  const rows = await db.query('select id, state, attempt, crashes from stint.jobs order by id')
  const asItWas = { state: 'ready', attempt: 0, crashes: 2 }
  expect(rows).toEqual([neverBegan, beganBefore].sort().map((id) => ({ id, ...asItWas })))
}

/** A job that ends its process is quarantined when it has done so `crashLimit` times. */
export async function crashLimit(build: Build): Promise<void> {
  const { db, ledger, stint, contract, setup, worker } = await createScene(build)
  const { id } = await stint.enqueue(contract, { act: 'die', how: 'SIGKILL' })
  const limit = 3
  await worker('sweeper', { ...sweeper, crashLimit: limit })
  for (let death = 1; death <= limit; death++) {
    const victim = spawnWorker(ledger, setup(`victim ${death}`, { ...calm, crashLimit: limit }))
    await endLease(db, victim)
    await ledger.wroteMany({ name: 'swept' }, death)
  }
  expect(ledger.lines({ type: 'start', job: id })).toHaveLength(limit)
  const dead = await db.query('select id, reason, crashes from stint.dead')
  expect(dead).toEqual([{ id, reason: 'quarantined', crashes: limit }])
}

/** A job that a stopping worker gives back keeps its number of attempts. */
export async function releaseNoBurn(build: Build): Promise<void> {
  const { db, ledger, stint, contract, worker } = await createScene(build)
  const leaving = await worker('leaving', { ...calm, drain: 0 })
  const { id } = await stint.enqueue(contract, { act: 'hold', listens: true })
  await ledger.wrote({ type: 'start', job: id })
  leaving.signal('SIGTERM')
  await leaving.exited
  const rows = await db.query('select state, attempt, crashes from stint.job where id = $1', [id])
  expect(rows).toEqual([{ state: 'ready', attempt: 0, crashes: 0 }])
  const noted = await db.query('select attempt, outcome from stint.attempt where job_id = $1', [id])
  expect(noted).toEqual([{ attempt: 1, outcome: 'released' }])
}
