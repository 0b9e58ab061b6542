import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { floorParams } from './position.ts'
import type { Position } from './position.ts'
import { toQueueRules } from './queue-rules.ts'
import type { QueueRules, QueueRulesRow } from './queue-rules.ts'
import { toWanted } from './leases/wanted.ts'
import type { Wanted } from './leases/wanted.ts'
import { laneParams } from './claim.ts'
import type { Lane } from './claim.ts'
import { surveyLanesSql } from './survey-lanes.sql.ts'
import { surveySql } from './survey.sql.ts'
import { tailLanesSql } from './tail-lanes.sql.ts'
import { tailSql } from './tail.sql.ts'
import { unknownKindsSql } from './unknown-kinds.sql.ts'

/** The result of a survey of some queues. */
export type Finding =
  | { type: 'ready'; queue: string; priority: number; head: Position; ageMs: number }
  | { type: 'keyed'; queue: string }
  | { type: 'due'; queue: string; inMs: number }
  | { type: 'rules'; queue: string; rules: QueueRules }
  | { type: 'wanted'; wanted: Wanted | null }

export interface Served {
  queues: readonly string[]
  /** JSON of kind → newest contract version. */
  kinds: string
}

/** Where a worker of these queues finds work; `kinds` are those of each queue. */
export function survey(
  db: Queryable,
  served: { queues: readonly string[]; kinds: readonly string[]; worker?: string },
): Promise<Finding[]> {
  return run(db, surveySql, { worker: null, ...served }, toFinding)
}

interface FindingRow {
  type: Finding['type']
  queue: string
  priority: number
  runAt: string
  id: string
  ms: number
  rules: QueueRulesRow
}

function toFinding({ type, queue, priority, runAt, id, ms, rules }: FindingRow): Finding {
  switch (type) {
    case 'ready':
      return { type, queue, priority, head: { runAt, id }, ageMs: ms }
    case 'keyed':
      return { type, queue }
    case 'due':
      return { type, queue, inMs: ms }
    case 'rules':
      return { type, queue, rules: toQueueRules(rules) }
    case 'wanted':
      return { type, wanted: toWanted(rules) }
  }
}

/** The last ready job of a queue and priority above the floor, among those that were there `agoMs` ago. */
export async function tail(
  db: Queryable,
  { floor, ...request }: { queue: string; priority: number; floor: Position; agoMs: number },
): Promise<Position | undefined> {
  const [last] = await run(db, tailSql, { ...request, ...floorParams(floor) }, (row: Position) => row)
  return last
}

/** A lane with ready jobs, and the first of them that this worker could claim; null where all are for others. */
export interface SurveyedLane {
  key: string
  priority: number
  head: Position | null
  ageMs: number
}

/** The lanes of a queue after a key, one page of them. */
export function surveyLanes(
  db: Queryable,
  request: { queue: string; kinds: string; afterKey: string; lanes: number },
): Promise<SurveyedLane[]> {
  type Row = { key: string; priority: number; runAt: string; id: string | null; ageMs: number | null }
  return run(db, surveyLanesSql, request, ({ key, priority, runAt, id, ageMs }: Row) => ({
    key,
    priority,
    head: id === null ? null : { runAt, id },
    ageMs: ageMs ?? 0,
  }))
}

/** Where the ready jobs of some lanes end: as `tail`, of those lanes that have any above their floor. */
export function tailLanes(
  db: Queryable,
  {
    lanes,
    ...request
  }: { queue: string; lanes: readonly Pick<Lane, 'key' | 'priority' | 'floor'>[]; agoMs: number },
): Promise<(Position & { key: string; priority: number })[]> {
  type Row = Position & { key: string; priority: number }
  return run(db, tailLanesSql, { ...request, ...laneParams(lanes) }, (row: Row) => row)
}

export interface UnknownKind {
  queue: string
  kind: string
  /** Ready jobs among the first thousand of the queue, counted with and without keys. */
  jobs: number
}

/** Kinds that wait in these queues and that this worker cannot run. */
export function unknownKinds(db: Queryable, served: Served): Promise<UnknownKind[]> {
  return run(db, unknownKindsSql, { ...served, window: 1_000 }, (row: UnknownKind) => row)
}
