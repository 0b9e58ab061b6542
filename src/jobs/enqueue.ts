import { isCopyable, render, run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { enqueueAlikeSql } from './enqueue-alike.sql.ts'
import { enqueueCopySql } from './enqueue-copy.sql.ts'
import { enqueueDecidingSql } from './enqueue-deciding.sql.ts'
import { enqueueOneSql } from './enqueue-one.sql.ts'
import { enqueueSql } from './enqueue.sql.ts'

/** A job before it is stored. Its parts are JSON already: they are joined, never parsed again. */
export interface NewJob {
  id: string
  /**
   * Its members except id and input, `"queue":"media","kind":"image.resize",…`: jobs with the same text form a group.
   */
  members: string
  /** Further members for the function that decides; empty if nothing has to be decided. */
  deciding: string
  /** Its members one by one, if it has only the usual ones. */
  simple: SimpleMembers | undefined
  input: string
}

/** As text, which every driver sends in the same way. */
export interface SimpleMembers {
  queue: string
  kind: string
  key: string | null
  priority: string
  maxAttempts: string
  version: string
}

export type Placement = 'stored' | 'kept' | 'replaced' | 'conflict' | 'mismatch'

/** How a job was stored: under its own id, or as a duplicate of another job. */
export interface Placed {
  id: string
  placement: Placement
}

/** Whether a plain insert is enough, or the function has to decide first. */
export function isPlain(job: NewJob): boolean {
  return job.deciding === ''
}

/** From this many rows on COPY is faster, although it takes one more round trip. */
const copyFrom = 200

/** Stores plain jobs by the cheapest statement that can do it. All of them, or none. */
export async function enqueue(db: Queryable, jobs: readonly NewJob[]): Promise<Placed[]> {
  await (storeSimple(db, jobs) ?? run(db, enqueueSql, { groups: groupsOf(jobs) }, () => undefined))
  return jobs.map(({ id }) => ({ id, placement: 'stored' }))
}

/** Uses one of the statements for simple jobs; undefined if none of them fits. */
function storeSimple(db: Queryable, jobs: readonly NewJob[]): Promise<unknown> | undefined {
  const [first] = jobs
  if (first?.simple === undefined || jobs.some(({ simple }) => simple === undefined)) return undefined
  if (jobs.length === 1) {
    return run(db, enqueueOneSql, { ...first.simple, id: first.id, input: first.input }, () => undefined)
  }
  if (jobs.length >= copyFrom && isCopyable(db)) {
    return db.copy(render(enqueueCopySql, db.schema), jobs.map(copyLine).join(''))
  }
  if (jobs.some(({ members }) => members !== first.members)) return undefined
  const ids = `{${jobs.map(({ id }) => id).join(',')}}`
  const inputs = `[${jobs.map(({ input }) => input).join(',')}]`
  return run(db, enqueueAlikeSql, { ...first.simple, ids, inputs }, () => undefined)
}

/** Stores jobs of any sort, or finds the jobs that they are duplicates of; returns results in the order given. */
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

/** A row in COPY's text format. */
function copyLine({ id, simple, input }: NewJob): string {
  if (simple === undefined) throw new Error(`Job ${id} cannot be copied`)
  const { queue, kind, key, priority, maxAttempts, version } = simple
  const keyText = key === null ? '\\N' : copyText(key)
  return `${id}\t${queue}\t${kind}\t${keyText}\t${priority}\t${maxAttempts}\t${version}\t${copyText(input)}\n`
}

function copyText(text: string): string {
  return text.replace(/[\\\t\n\r]/g, (character) => copyEscapes[character] ?? character)
}

const copyEscapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }
