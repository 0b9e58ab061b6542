import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { notifyQueueSql } from './notify-queue.sql.ts'

export const notifyQueue: Check = async (db, { notifyWarn, notifyFail }) => {
  type Queue = { usage: number; suspects: number[] }
  const [queue] = await run(db, notifyQueueSql, {}, (row: Queue) => row)
  const usage = queue?.usage ?? 0
  const title = `The notification queue is ${Math.round(usage * 100)} % full`
  if (usage < notifyWarn)
    return { level: 'ok', title, detail: 'Producers can notify workers of new jobs at once.' }
  const suspects = queue?.suspects ?? []
  return {
    level: usage < notifyFail ? 'warn' : 'fail',
    title,
    detail: `A listening session keeps a transaction open${suspects.length > 0 ? `, perhaps process ${listing(suspects.map(String))}` : ''}. When the queue is full, every commit that notifies fails, including those of your own code. Stint's workers then find jobs by polling.`,
    ...(suspects.length > 0
      ? { fix: suspects.map((pid) => `select pg_terminate_backend(${pid});`).join('\n') }
      : {}),
  }
}
