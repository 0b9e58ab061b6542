import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { claimSql } from '../../../src/jobs/claim.sql.ts'
import { heldSql } from '../../../src/jobs/leases/held.sql.ts'
import { burySql } from '../../../src/jobs/leases/bury.sql.ts'
import { sweepSql } from '../../../src/worker/recovery/sweep.sql.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import { statementMarks } from '../../support/statement-marks.ts'
import { plantRunning, plantWorker } from '../harness/planted.ts'
import { createScene, sweeper } from '../harness/scene.ts'
import type { Build, Scene } from '../harness/scene.ts'

async function stateOf({ db }: Scene, id: string): Promise<unknown> {
  const [row] = await db.query('select state, epoch, attempt from stint.job where id = $1', [id])
  return row
}

const running = { state: 'running', epoch: 1, attempt: 1 }
const returned = { state: 'ready', epoch: 1, attempt: 0 }

/** The sweep takes back the jobs of lost workers, and no job of a live worker. */
export async function sweepLive(build: Build): Promise<void> {
  const scene = await createScene(build)
  const { ledger, worker, db } = scene
  // Its lease has a short duration, so that the grace after an outage does not protect it, and ends in a day.
  const alive = await plantWorker(db, { renewed: '-1 day', lease: '1 millisecond' })
  const lost = await plantWorker(db, { renewed: '1 hour', lease: '1 second', isLost: true })
  const ofAlive = await plantRunning(scene, alive)
  const ofLost = await plantRunning(scene, lost)
  await worker('sweeper', sweeper)
  await ledger.wrote({ name: 'swept' })
  expect([await stateOf(scene, ofLost), await stateOf(scene, ofAlive)]).toEqual([returned, running])
  expect(
    await db.query('select id from stint.worker where lost_at is null and id = $1', [alive]),
  ).toHaveLength(1)
}

/** The sweep leaves a job alone that another worker has taken since the sweep found it. */
export async function sweepRace(build: Build): Promise<void> {
  const scene = await createScene(build)
  const { db, worker } = scene
  const lost = await plantWorker(db, { renewed: '1 hour', lease: '1 second', isLost: true })
  const alive = await plantWorker(db, { renewed: '-1 day', lease: '1 millisecond' })
  const id = await plantRunning(scene, lost)
  const proxy = await startFaultProxy(db.url)
  const taking = proxy.holdNext(statementMarks(sweepSql))
  await worker('sweeper', { ...sweeper, connection: proxy.url })
  const letPass = await taking
  // Another worker was faster, and the job runs again already.
  await db.query('update stint.job set worker_id = $2, lease_id = $3, epoch = 2 where id = $1', [
    ...[id, alive, randomUUID()],
  ])
  // Each pass begins with bury.sql; it looks for lost workers only while a job runs.
  const nextPass = proxy.saw(statementMarks(burySql), 2)
  letPass()
  await nextPass
  expect(await stateOf(scene, id)).toEqual({ ...running, epoch: 2 })
}

/** The sweep finds a claim that committed after its worker was declared lost and its row was removed. */
export async function sweepOrphanClaim(build: Build): Promise<void> {
  const scene = await createScene(build)
  const known = await plantWorker(scene.db, { renewed: '1 hour', lease: '1 second', isLost: true })
  const ofUnknown = await plantRunning(scene, randomUUID())
  const ofKnown = await plantRunning(scene, known)
  await scene.worker('sweeper', sweeper)
  // One statement takes both jobs back.
  await scene.ledger.wrote({ name: 'swept' })
  expect([await stateOf(scene, ofKnown), await stateOf(scene, ofUnknown)]).toEqual([returned, returned])
}

/** After the server was down, a worker has the duration of its lease to renew it before it is declared lost. */
export async function outageNoBlame(build: Build): Promise<void> {
  const scene = await createScene(build)
  const { db, ledger, worker } = scene
  // Both leases expired long ago, but one of them has a duration longer than the uptime of the server.
  const longLeased = await plantWorker(db, { renewed: '1000 days', lease: '900 days' })
  const shortLeased = await plantWorker(db, { renewed: '1000 days', lease: '1 millisecond' })
  const waiting = await plantRunning(scene, longLeased)
  const gone = await plantRunning(scene, shortLeased)
  await worker('sweeper', sweeper)
  await ledger.wrote({ name: 'swept' })
  expect([await stateOf(scene, gone), await stateOf(scene, waiting)]).toEqual([returned, running])
}

/** A worker that lost the reply to its claim gives the jobs back, and no attempt is counted. */
export async function claimLostReply(build: Build): Promise<void> {
  const { db, ledger, stint, contract, worker } = await createScene(build)
  const proxy = await startFaultProxy(db.url)
  await worker('worker', { connection: proxy.url, lease: '30s', sweepEvery: '100ms', pollFloor: '60s' })
  const cut = proxy.cutNext({ text: statementMarks(claimSql), when: 'after' })
  const { id } = await stint.enqueue(contract, {})
  await cut
  // The worker repeatedly compares the jobs that run under its id with those it knows; the first pass has to find it.
  const looked = proxy.saw(statementMarks(heldSql), 150).then(() => 'forgotten' as const)
  const started = ledger.wrote({ type: 'start', job: id }).then(() => 'started' as const)
  started.catch(() => undefined)
  expect(await Promise.race([looked, started])).toBe('started')
  await ledger.wrote({ name: 'succeeded', job: id })
  const [row] = await db.query('select attempt, crashes, epoch from stint.finished where id = $1', [id])
  expect(row).toEqual({ attempt: 1, crashes: 0, epoch: 2 })
}
