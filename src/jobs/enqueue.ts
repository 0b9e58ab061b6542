import { isCopyable, render, run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { enqueueAlikeSql } from './enqueue-alike.sql.ts'
import { enqueueCopySql } from './enqueue-copy.sql.ts'
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

/** From this many rows on COPY is faster, although it takes one more round trip. */
const copyFrom = 200

/** Stores plain jobs by the cheapest statement that can. All of them, or none. */
export async function enqueue(db: Queryable, jobs: readonly NewJob[]): Promise<Placed[]> {
  await (storeSimple(db, jobs) ?? run(db, enqueueSql, { groups: groupsOf(jobs) }, () => undefined))
  return jobs.map(({ id }) => ({ id, placement: 'stored' }))
}

/** By one of the statements for simple jobs; undefined where none of them can. */
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
