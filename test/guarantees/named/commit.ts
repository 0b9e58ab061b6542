import { expect } from 'vitest'
import { enqueueOneSql } from '../../../src/jobs/enqueue-one.sql.ts'
import { succeedSql } from '../../../src/jobs/succeed.sql.ts'
import { eventually } from '../../support/eventually.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import { statementMarks } from '../../support/statement-marks.ts'
import { calm, createScene } from '../harness/scene.ts'
import type { Build, Scene } from '../harness/scene.ts'

async function effectsOf({ db }: Scene, id: string): Promise<number> {
  return (await db.query('select 1 from effect where job = $1', [id])).length
}

/** The writes of ctx.tx are stored once when the connection dies between them and the completion, and the block is repeated. */
export async function txAtMostOnce(build: Build): Promise<void> {
  const scene = await createScene(build)
  const { db, ledger, stint, contract, worker } = scene
  const proxy = await startFaultProxy(db.url)
  await worker('worker', { ...calm, connection: proxy.url })
  const cut = proxy.cutNext({ text: succeedSql.name, when: 'before' })
  const { id } = await stint.enqueue(contract, { act: 'work', ms: 0, tx: true })
  await cut
  const ending = await ledger.wrote(({ name, job }) => name !== undefined && job === id)
  expect(ending.name).toBe('succeeded')
  expect(await effectsOf(scene, id)).toBe(1)
}

/** A completion whose reply was lost counts as stored: it is neither a failure nor a lost lease. */
export async function commitCutSettle(build: Build): Promise<void> {
  const scene = await createScene(build)
  const { db, ledger, stint, contract, worker } = scene
  const proxy = await startFaultProxy(db.url)
  await worker('worker', { ...calm, connection: proxy.url })
  for (const { text, tx, effects } of [
    { text: statementMarks(succeedSql), tx: false, effects: 0 },
    { text: 'commit\0', tx: true, effects: 1 },
  ]) {
    const cut = proxy.cutNext({ text, when: 'after' })
    const { id } = await stint.enqueue(contract, { act: 'work', ms: 0, tx })
    await cut
    const ending = await ledger.wrote(({ name, job }) => name !== undefined && job === id)
    expect(ending.name).toBe('succeeded')
    expect(ledger.lines({ type: 'start', job: id })).toHaveLength(1)
    expect(await effectsOf(scene, id)).toBe(effects)
  }
}

/** A job that has ended before its enqueue is repeated is neither stored nor run again. */
export async function commitCutEnqueue(build: Build): Promise<void> {
  const scene = await createScene(build)
  const { db, ledger, worker, producer } = scene
  const proxy = await startFaultProxy(db.url)
  await worker('worker', calm)
  const inputs = [{ act: 'return' }]
  const connection = proxy.url
  const cutOff = await producer({ name: 'cut off', connection, notify: false, perSecond: 0, inputs })
  // The first enqueue opens the connection that is cut at the second.
  cutOff.tell('one')
  await ledger.wrote({ type: 'ack', n: 0 })
  const letIn = proxy.holdNew()
  const cut = proxy.cutNext({ text: statementMarks(enqueueOneSql), when: 'after' })
  cutOff.tell('one')
  await cut
  const { job = '' } = await ledger.wrote({ type: 'end', n: 1 })
  await eventually(async () => {
    expect(await db.query('select 1 from stint.finished where id = $1', [job])).toHaveLength(1)
  })
  letIn()
  expect(
    (await ledger.wrote(({ type, n }) => type !== 'intent' && type.includes('ack') && n === 1)).type,
  ).toBe('ack')
  // Any job stored meanwhile is claimed before this one.
  cutOff.tell('one')
  await ledger.wrote({ type: 'end', n: 2 })
  expect(ledger.lines({ type: 'start', n: 1 })).toHaveLength(1)
  expect(await db.query(`select 1 from stint.jobs where input ->> 'n' = '1'`)).toHaveLength(1)
}

/** An enqueue that was given up is not stored later: its unsent bytes are dropped and do not arrive when the network heals. */
export async function partitionLateBytes(build: Build): Promise<void> {
  const { db, ledger, producer } = await createScene(build)
  const proxy = await startFaultProxy(db.url)
  const inputs = [{ act: 'return' }]
  const connection = { connection: proxy.url, timeout: '6s', notify: false }
  const cutOff = await producer({ ...connection, name: 'cut off', perSecond: 0, inputs })
  cutOff.tell('one')
  await ledger.wrote({ type: 'ack', n: 0 })
  const heal = proxy.blackhole()
  // More than the receiving kernel buffers, so that the rest waits in the sending one.
  cutOff.tell('large 8 120000')
  const { code } = await ledger.wrote({ type: 'unacknowledged many' })
  expect(code).toBe('enqueue-unknown')
  await heal()
  expect(await db.query(`select 1 from stint.jobs where input ? 'text'`)).toEqual([])
}

/** A slot is freed only when the ending of its job is stored, so that results do not pile up in memory. */
export async function settleBacklog(build: Build): Promise<void> {
  const { db, ledger, stint, contract, worker } = await createScene(build)
  const proxy = await startFaultProxy(db.url)
  await worker('worker', {
    ...calm,
    connection: proxy.url,
    queues: { work: { concurrency: 1, prefetch: 0 } },
  })
  const settle = { text: statementMarks(succeedSql), when: 'before' as const }
  const firstCut = proxy.cutNext(settle)
  const { jobs } = await stint.enqueueMany(contract, [{}, {}])
  await firstCut
  for (let cuts = 1; cuts < 5; cuts++) await proxy.cutNext(settle)
  expect(ledger.lines({ type: 'start' })).toHaveLength(1)
  await ledger.wroteMany({ name: 'succeeded' }, jobs.length)
}
