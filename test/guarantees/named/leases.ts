import { expect } from 'vitest'
import { messageOf } from '../../../src/core/failures/thrown.ts'
import { connectTo } from '../../support/database.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import type { Line } from '../../support/ledger.ts'
import { createScene, sweeper } from '../harness/scene.ts'
import type { Build } from '../harness/scene.ts'

const isSwept = ({ name }: Line): boolean => name === 'swept'

/** A handler whose worker cannot reach the database is aborted before its job is given to another worker. */
export async function abortFirst(build: Build): Promise<void> {
  const { db, ledger, stint, contract, worker } = await createScene(build)
  const proxy = await startFaultProxy(db.url)
  // Long enough that a busy machine does not use up the fifth of the lease between abort and takeover.
  await worker('cut off', { lease: '12s', sweepEvery: '1h', connection: proxy.url })
  await worker('sweeper', sweeper)
  const { id } = await stint.enqueue(contract, { act: 'hold', listens: true })
  await ledger.wrote({ type: 'start', job: id })
  proxy.blackhole()
  const first = await ledger.wrote((line) => isSwept(line) || (line.type === 'end' && line.job === id))
  expect(first).toMatchObject({ type: 'end', worker: 'cut off' })
}

/** A worker that freezes inside ctx.tx does not hold its row for ever: the server ends the transaction. */
export async function txIdleBound(build: Build): Promise<void> {
  const { db, ledger, stint, contract, worker } = await createScene(build)
  const leaseMs = 3_000
  const frozen = await worker('frozen', { lease: leaseMs, sweepEvery: '1h' })
  const { id } = await stint.enqueue(contract, { act: 'effect', until: `${ledger.file}.never` })
  await ledger.wrote({ type: 'inside', job: id })
  frozen.signal('SIGSTOP')
  const other = await connectTo(db.url)
  await other.query(`set lock_timeout = ${3 * leaseMs}`)
  const row = await other.query('select from stint.job where id = $1 for update', [id]).then(
    () => 'free',
    (error: unknown) => messageOf(error),
  )
  expect(row).toBe('free')
  expect(await db.query('select from effect')).toEqual([])
}

/** A handler that blocks the event loop for longer than a lease, but within its timeout, keeps its job. */
export async function blockedKeepsLease(build: Build): Promise<void> {
  const { db, ledger, stint, contract, worker } = await createScene(build)
  const leaseMs = 6_000
  await worker('blocked', { lease: leaseMs, sweepEvery: '1h' })
  await worker('sweeper', sweeper)
  const { id } = await stint.enqueue(contract, { act: 'block', ms: 1.5 * leaseMs })
  const first = await ledger.wrote((line) => isSwept(line) || (line.name === 'succeeded' && line.job === id))
  expect(first.name).toBe('succeeded')
  const rows = await db.query('select attempt, crashes, epoch from stint.finished where id = $1', [id])
  expect(rows).toEqual([{ attempt: 1, crashes: 0, epoch: 1 }])
}
