import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { enqueueDecidingSql } from './enqueue-deciding.sql.ts'
import { enqueueOneSql } from './enqueue-one.sql.ts'
import { enqueueSql } from './enqueue.sql.ts'

/** A job on its way into the table. The parts are JSON already: they are put together, never parsed again. */
export interface NewJob {
  id: string
  /** Its members but for id and input, `"queue":"media","kind":"image.resize",…`: the same text, the same group. */
  members: string
  /** What the function that decides needs beyond those; empty where nothing has to be decided. */
  deciding: string
  /** Its members one by one, where there are none but the usual. */
  simple: SimpleMembers | undefined
  input: string
}

/** As text, which every driver sends alike. */
export interface SimpleMembers {
  queue: string
  kind: string
  key: string | null
  priority: string
  maxAttempts: string
  version: string
}

export type Placement = 'stored' | 'kept' | 'replaced' | 'conflict' | 'mismatch'

/** Where a job ended up: under its own id, or standing behind another. */
export interface Placed {
  id: string
  placement: Placement
}

/** Whether one plain insert will do, or the function has to look first. */
export function isPlain(job: NewJob): boolean {
  return job.deciding === ''
}

/** Stores plain jobs. All of them, or none. */
export async function enqueue(db: Queryable, jobs: readonly NewJob[]): Promise<Placed[]> {
  const [first] = jobs
  if (jobs.length === 1 && first?.simple !== undefined) {
    await run(db, enqueueOneSql, { ...first.simple, id: first.id, input: first.input }, () => undefined)
  } else {
    await run(db, enqueueSql, { groups: groupsOf(jobs) }, () => undefined)
  }
  return jobs.map(({ id }) => ({ id, placement: 'stored' }))
}

/** Stores jobs of any sort, or finds what stands for them, answering in the order given. */
export function enqueueDeciding(db: Queryable, jobs: readonly NewJob[], again: boolean): Promise<Placed[]> {
  const objects = jobs.map(
    ({ id, members, deciding, input }) => `{"id":"${id}",${members}${deciding},"input":${input}}`,
  )
  return run(
    db,
    enqueueDecidingSql,
    { jobs: `[${objects.join(',')}]`, again },
    (row: { id: string; outcome: Placement }): Placed => ({ id: row.id, placement: row.outcome }),
  )
}

function groupsOf(jobs: readonly NewJob[]): string {
  const groups = new Map<string, { ids: string[]; inputs: string[] }>()
  for (const { members, id, input } of jobs) {
    let group = groups.get(members)
    if (group === undefined) groups.set(members, (group = { ids: [], inputs: [] }))
    group.ids.push(id)
    group.inputs.push(input)
  }
  const texts = [...groups].map(
    ([members, { ids, inputs }]) =>
      `{${members},"ids":["${ids.join('","')}"],"inputs":[${inputs.join(',')}]}`,
  )
  return `[${texts.join(',')}]`
}
