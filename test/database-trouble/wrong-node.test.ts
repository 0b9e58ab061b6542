import type pg from 'pg'
import { expect, test } from 'vitest'
import { Stint } from '../../src/index.ts'
import { connectTo } from '../support/database.ts'
import { isOutOf } from '../support/lane.ts'
import { attemptsOf, gate, newJob, startFor, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()

/** Applies to new sessions only; existing sessions keep their setting. */
async function readOnly(admin: pg.Client, is: 'on' | 'off'): Promise<void> {
  const { rows } = await admin.query<{ name: string }>('select quote_ident(current_database()) as name')
  await admin.query(`alter database ${rows[0]?.name ?? ''} set default_transaction_read_only = ${is}`)
}

/** Ends every session of Stint, as a switch to another server does. */
async function cutSessions(admin: pg.Client): Promise<void> {
  await admin.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name like 'stint%'`,
  )
}

const isOut = isOutOf('pgbouncer', 'PgBouncer keeps its sessions, and reuses read-only ones')

test.skipIf(isOut)(
  'a read-only server costs no attempt, and work goes on when a new connection reaches a writable server',
  async () => {
    const admin = await connectTo(scene.db.url)
    const job = newJob('switch')
    const open = gate()
    const worker = await startFor(
      scene,
      job,
      async (input) => {
        if (input === 'during') await open.opened
        return input
      },
      { sweepEvery: '200ms', pollFloor: '100ms' },
    )
    const before = await scene.stint.enqueue(job, 'before')
    await worker.hears('succeeded', before.id)
    const during = await scene.stint.enqueue(job, 'during')
    await worker.hears('started', during.id)

    await readOnly(admin, 'on')
    await cutSessions(admin)
    open.open(undefined)
    // The result of the job is kept.
    await worker.tells('trouble', ({ error }) => (error as { code?: string }).code === '25006', 3)
    // A statement may use a third of the timeout; an error that comes later would be less specific.
    const hasty = new Stint({ connection: scene.db.url, timeout: '6s' })
    await expect(hasty.enqueue(job, 'refused')).rejects.toMatchObject({ code: 'database-unavailable' })
    await hasty.close()

    // Sessions that were opened meanwhile stay read-only as long as they live: they have to be closed.
    await readOnly(admin, 'off')
    await worker.hears('succeeded', during.id)
    const after = await scene.stint.enqueue(job, 'after')
    await worker.hears('succeeded', after.id)
    expect(await stored(scene, during.id)).toMatchObject({
      state: 'succeeded',
      attempt: 1,
      crashes: 0,
      epoch: 1,
    })
    expect(await attemptsOf(scene, during.id)).toEqual([])
    expect(worker.told('workerLost')).toEqual([])
  },
)
