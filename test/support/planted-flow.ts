import { randomUUID } from 'node:crypto'
import type { JobState } from '../../src/index.ts'
import { nextId } from '../../src/jobs/new/ids.ts'
import type { TestDatabase } from './database.ts'

export interface PlantedNode {
  name: string
  /** The states of its jobs. */
  jobs: readonly JobState[]
  /** The indexes of the nodes that have to succeed before it may start. */
  after?: readonly number[]
}

export interface FlowToPlant {
  queue: string
  kind: string
  key?: string | null
  name?: string
  nodes: readonly PlantedNode[]
}

/** Stores a flow whose jobs are in these states, as if workers had brought it so far. Returns its id, and its jobs by node. */
export async function plantFlow(
  db: TestDatabase,
  { queue, kind, key = null, name = 'checkout', nodes }: FlowToPlant,
): Promise<{ id: string; jobs: string[][] }> {
  const id = nextId()
  const isOpen = nodes.some(
    ({ jobs }) => jobs.some((state) => !ended.includes(state)) || jobs.includes('dead'),
  )
  await db.query(
    `insert into stint.flow (id, name, open_nodes, ended_at) values ($1, $2, $3, case when $4 then null else now() end)`,
    [id, name, isOpen ? nodes.length : 0, isOpen],
  )
  const jobs = nodes.map((node) => node.jobs.map(() => nextId()))
  for (const [index, node] of nodes.entries()) {
    const count = (wanted: JobState): number => node.jobs.filter((state) => state === wanted).length
    const [succeeded, dead, cancelled] = [count('succeeded'), count('dead'), count('cancelled')]
    const remaining = node.jobs.length - succeeded - dead - cancelled
    const after = node.after ?? []
    const open = after.filter((from) => nodes[from]?.jobs.some((state) => state !== 'succeeded') ?? false)
    const next = nodes.flatMap((one, target) => (one.after?.includes(index) ? [target] : []))
    await db.query(
      `insert into stint.flow_node (flow_id, node, name, needs, chances, total, remaining, succeeded, dead, cancelled,
                                    is_complete, has_ended, has_died, on_succeeded)
       values ($1, $2, $3, $4, $4, $5, $6, $7, $8, $9, $6 = 0 and $8 = 0, $6 = 0, $8 > 0, $10)`,
      [id, index, node.name, open.length, node.jobs.length, remaining, succeeded, dead, cancelled, next],
    )
    for (const [member, state] of node.jobs.entries())
      await plantJob(db, {
        id: jobs[index]?.[member] ?? '',
        state,
        queue,
        kind,
        key,
        flow: id,
        node: index,
        member,
      })
  }
  return { id, jobs }
}

const ended: readonly JobState[] = ['succeeded', 'cancelled']

interface JobToPlant {
  id: string
  state: JobState
  queue: string
  kind: string
  key: string | null
  flow: string
  node: number
  member: number
}

async function plantJob(
  db: TestDatabase,
  { id, state, queue, kind, key, flow, node, member }: JobToPlant,
): Promise<void> {
  const own = [id, queue, kind, key, flow, node, member]
  if (state === 'dead') {
    await db.query(
      `insert into stint.dead (id, queue, kind, key, flow_id, node, member, created_at, run_at, started_at, died_at, attempt, epoch,
                               max_attempts, crashes, priority, version, reason, input)
       values ($1, $2, $3, $4, $5, $6, $7, now() - interval '2 minutes', now() - interval '2 minutes', now() - interval '50 seconds',
               now() - interval '45 seconds', 5, 5, 5, 0, 0, 1, 'exhausted', '{}')`,
      own,
    )
    return
  }
  if (ended.includes(state)) {
    await db.query(
      `insert into stint.finished (id, queue, kind, key, flow_id, node, member, state, created_at, run_at, started_at, attempt, epoch,
                                   max_attempts, crashes, priority, version, input, finished_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, now() - interval '2 minutes', now() - interval '2 minutes',
               now() - interval '100 seconds', 1, 1, 5, 0, 0, 1, '{}', now() - interval '90 seconds')`,
      [...own, state],
    )
    return
  }
  await db.query(
    `insert into stint.job (id, queue, kind, key, flow_id, node, member, state, run_at, waits, worker_id, lease_id, started_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8::stint.job_state,
             case when $8 = 'waiting' then now() + interval '3652 days' else now() end,
             case when $8 = 'waiting' then '{"node": true}'::jsonb end,
             case when $8 = 'running' then $9::uuid end, case when $8 = 'running' then $9::uuid end,
             case when $8 = 'running' then now() - interval '40 seconds' end)`,
    [...own, state, randomUUID()],
  )
}

/** Parks a job as a worker does whose code asks for other steps. */
export async function park(db: TestDatabase, id: string): Promise<void> {
  await db.query(
    `insert into stint.step (job_id, name, n, seq, type, state, epoch, result, started_at, ended_at)
     values ($1, 'profile', 0, 0, 'step', 'done', 1, '1', now(), now()), ($1, 'draft', 0, 1, 'step', 'done', 1, '2', now(), now())`,
    [id],
  )
  await db.query(
    `update stint.job
        set state = 'waiting', epoch = 2, run_at = now() + interval '5 minutes',
            waits = jsonb_build_object('parked', jsonb_build_object(
              'reason', 'it asks for ''review'' where ''draft'' was recorded', 'tries', 2,
              'asked', '{"name": "review", "n": 0, "type": "step"}'::jsonb,
              'recorded', '{"name": "draft", "n": 0, "type": "step"}'::jsonb))
      where id = $1`,
    [id],
  )
}
