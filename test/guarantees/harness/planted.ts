import { randomUUID } from 'node:crypto'
import type { Scene } from './scene.ts'

/** A job that runs, by the database's book, under this worker. */
export async function plantRunning({ db, stint, contract }: Scene, workerId: string): Promise<string> {
  const { id } = await stint.enqueue(contract, {})
  await db.query(
    `update stint.job set state = 'running', attempt = 1, epoch = 1, worker_id = $2, lease_id = $3, started_at = now()
      where id = $1`,
    [id, workerId, randomUUID()],
  )
  return id
}

/** A worker by the database's book, which has renewed its lease so long ago, for so long. */
export async function plantWorker(
  db: Scene['db'],
  { renewed, lease, isLost = false }: { renewed: string; lease: string; isLost?: boolean },
): Promise<string> {
  const id = randomUUID()
  await db.query(
    `insert into stint.worker (id, renewed_at, lease_until, lost_at, about)
     values ($1, now() - $2::interval, now() - $2::interval + $3::interval, case when $4::boolean then now() end, '{}')`,
    [id, renewed, lease, isLost],
  )
  return id
}
