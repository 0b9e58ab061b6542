import type { Client } from 'pg'

/** A request to the console. */
export interface Asked {
  name: string
  path: string
  /** Its answer is shared with other callers for a moment, so it is also sent to a new console. */
  isShared?: boolean
  /** @default 300 */
  mayTakeMs?: number
  /** Sent as a POST. */
  body?: object
}

const filters = [
  ...['', 'state:ready', 'state:running', 'state:retrying', 'state:scheduled', 'state:waiting'],
  ...['state:succeeded', 'state:cancelled', 'state:dead', 'queue:queue-3', 'queue:queue-3 state:ready'],
  ...['queue:quiet', 'queue:nobody', 'kind:charge.*', 'kind:nothing.*', 'key:key-77', 'key:nobody'],
  ...['correlation:order-500', 'worker:00000000-0000-4000-8000-000000000001', 'input.country:BR'],
  ...['priority:7', 'age>1h', 'age<10m state:ready', 'age>10d', 'state:dead queue:billing'],
  ...['state:dead kind:charge.*', 'state:dead key:key-77', 'state:dead input.country:BR', 'error:b02c'],
  ...['error:b02c kind:mail.send input.country:BR', 'state:dead reason:permanent', 'is:discarded'],
  ...['state:dead age>1h', 'id:019a8c3e-7c1b-7d5e-9f4e-2a6b0c1d2e3f'],
]

/** Every request of a screen. */
export async function requests(db: Client): Promise<Asked[]> {
  const one = async (sql: string): Promise<string> =>
    (await db.query<{ id: string }>(sql)).rows[0]?.id ?? 'nothing'
  const live = await one(`select id from stint.job where state = 'running' limit 1`)
  const finished = await one('select id from stint.finished where correlation_id is not null limit 1')
  const dead = await one('select id from stint.dead order by id limit 1')
  const operation = await one('select id from stint.operation limit 1')
  const ago = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString()
  return [
    { name: 'overview', path: '/v1/overview', isShared: true },
    { name: 'queues', path: '/v1/queues', isShared: true },
    { name: 'a queue', path: '/v1/queues/queue-3', isShared: true },
    { name: 'a queue with dead letters only', path: '/v1/queues/billing', isShared: true },
    { name: 'workers', path: '/v1/workers', isShared: true },
    { name: 'leases', path: '/v1/leases', isShared: true },
    { name: 'system', path: '/v1/system', isShared: true },
    { name: 'metrics', path: '/metrics', isShared: true },
    { name: 'stats, 15 min by 1 min', path: '/v1/stats?step=1m' },
    { name: 'stats, 1 h by 1 min', path: `/v1/stats?from=${ago(1)}&step=1m` },
    { name: 'stats, 6 h by 5 min', path: `/v1/stats?from=${ago(6)}&step=5m` },
    { name: 'stats, 24 h by 15 min', path: `/v1/stats?from=${ago(24)}&step=15m` },
    { name: 'stats, 24 h by 15 min, a queue', path: `/v1/stats?from=${ago(24)}&step=15m&queue=queue-3` },
    { name: 'stats, 7 days by 2 h', path: `/v1/stats?from=${ago(7 * 24)}&step=2h` },
    { name: 'stats, 30 days by 6 h', path: `/v1/stats?from=${ago(30 * 24)}&step=6h` },
    { name: 'a live job', path: `/v1/jobs/${live}` },
    { name: 'a finished job', path: `/v1/jobs/${finished}` },
    { name: 'a dead letter', path: `/v1/jobs/${dead}` },
    { name: 'its attempts', path: `/v1/jobs/${dead}/attempts` },
    { name: 'its log', path: `/v1/jobs/${dead}/logs` },
    { name: 'lineage of a live job', path: `/v1/jobs/${live}/lineage` },
    { name: 'lineage of a finished job', path: `/v1/jobs/${finished}/lineage` },
    { name: 'result of a finished job', path: `/v1/jobs/${finished}/result` },
    { name: 'error groups', path: '/v1/error-groups' },
    { name: 'error groups that kill', path: '/v1/error-groups?status=open&deadly=true' },
    { name: 'an error group', path: '/v1/error-groups/b02c9e51b02c9e51' },
    { name: 'schedules', path: '/v1/schedules' },
    { name: 'a schedule', path: '/v1/schedules/report-7' },
    { name: 'its next fires', path: '/v1/schedules/report-7/next' },
    { name: 'its past fires', path: '/v1/schedules/report-7/fires' },
    { name: 'operations', path: '/v1/operations' },
    { name: 'an operation', path: `/v1/operations/${operation}` },
    { name: 'audit', path: '/v1/audit' },
    { name: 'audit of a person', path: '/v1/audit?actor=person-7' },
    { name: 'audit of an action', path: '/v1/audit?action=queue.edit' },
    { name: 'kinds', path: '/v1/kinds' },
    { name: 'me', path: '/v1/me' },
    ...filters.map((where) => ({
      name: `jobs: ${where === '' ? 'all' : where}`,
      path: `/v1/jobs?limit=50&where=${encodeURIComponent(where)}`,
    })),
    // No screen waits for these: a person sees them before an action, counted for up to a second.
    ...['queue:billing', 'state:dead', 'error:b02c'].map((where) => ({
      name: `preview of a replay: ${where}`,
      mayTakeMs: 2_000,
      path: '/v1/operations',
      body: { action: 'replay', where, dryRun: true },
    })),
  ]
}
