import { randomUUID } from 'node:crypto'
import type { Scene } from './scene.ts'

/** Stores a job that the database holds as running under this worker, and returns its id. */
export async function plantRunning({ db, stint, contract }: Scene, workerId: string): Promise<string> {
  const { id } = await stint.enqueue(contract, {})
  await db.query(
    `update stint.job set state = 'running', attempt = 1, epoch = 1, worker_id = $2, lease_id = $3, started_at = now()
      where id = $1`,
    [id, workerId, randomUUID()],
  )
  return id
}

/** Stores the row of a worker that renewed its lease `renewed` ago, for the duration `lease`, and returns its id. */
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
