import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { gaugeProbeSql } from './gauge-probe.sql.ts'
import { gaugeSampleSql } from './gauge-sample.sql.ts'
import { gaugeTurnSql } from './gauge-turn.sql.ts'
import type { Service } from './service.ts'
import { writeGaugesSql } from './write-gauges.sql.ts'

/** A little less than the time between two refreshes: whoever asks then has its turn. */
const turnMs = 1_800
/** Counted one by one up to here; beyond, and where there are many groups sooner, it is an estimate. */
const cap = 10_000
/** Rows that all groups of a sort share. */
const rows = 10_000
/** Groups of a sort that are looked for. */
const groups = 500
/** Pages of the table that an estimate is made from. */
const pages = 250
const topKeys = 50

/** Refreshes what stint.queue_gauge says of every queue. Any number of processes may run it; one at a time does. */
export const gaugeService: Service = {
  name: 'gauges',
  everyMs: 2_000,
  runOnce: async (db) => {
    const turn = await run(db, gaugeTurnSql, { everyMs: turnMs }, () => true)
    if (turn.length > 0) await refreshGauges(db)
  },
}

export async function refreshGauges(db: Queryable): Promise<void> {
  const found = await run(db, gaugeProbeSql, { cap, rows, groups, topKeys }, (row: ProbeRow) => row)
  const isCapped = cappedIn(found)
  const sample = isCapped.size > 0 ? await run(db, gaugeSampleSql, { pages, topKeys }, toSample) : []
  const gauges = gaugesOf(found, sample, isCapped)
  // Its time in the database: what it waited for here costs nobody anything.
  const tookMs = longest(found) + longest(sample)
  await run(db, writeGaugesSql, { gauges: JSON.stringify(gauges), tookMs }, () => undefined)
}

/** Every row says how long the statement had taken until then. */
function longest(found: readonly { took: number }[]): number {
  return found.reduce((most, { took }) => Math.max(most, took), 0)
}

interface ProbeRow {
  source: 'level' | 'keyed' | 'key' | 'due' | 'waiting' | 'running'
  queue: string
  state: State
  kind: string | null
  priority: number | null
  key: string | null
  jobs: number
  oldest: number | null
  cap: number
  took: number
}

interface SampleRow {
  queue: string
  state: State
  kind: string | null
  priority: number | null
  isKeyed: boolean
  key: string | null
  jobs: number
  took: number
}

type State = 'ready' | 'running' | 'scheduled' | 'retrying' | 'waiting'

function toSample(row: SampleRow): SampleRow {
  return { ...row, jobs: Math.round(row.jobs) }
}

interface Gauge extends Record<State, number> {
  queue: string
  estimated: State[]
  oldestReadyMs: number | null
  kinds: Record<string, Partial<Record<State, number>>>
  priorities: Record<string, number>
  topKeys: { key: string; ready: number }[]
}

/** What is counted together, and has one cap. Running jobs are counted in one go for all queues. */
function groupOf({ source, queue, priority }: Pick<ProbeRow, 'source' | 'queue' | 'priority'>): string {
  if (source === 'running') return source
  return source === 'level' ? `${source} ${String(priority)} ${queue}` : `${source} ${queue}`
}

/** The groups that have more than was counted. */
function cappedIn(found: readonly ProbeRow[]): ReadonlySet<string> {
  const counted = new Map<string, { jobs: number; cap: number }>()
  for (const row of found) {
    if (row.source === 'key') continue
    const group = groupOf(row)
    counted.set(group, { jobs: (counted.get(group)?.jobs ?? 0) + row.jobs, cap: row.cap })
  }
  return new Set([...counted].filter(([, { jobs, cap: most }]) => jobs >= most).map(([group]) => group))
}

function gaugesOf(
  found: readonly ProbeRow[],
  sample: readonly SampleRow[],
  isCapped: ReadonlySet<string>,
): Gauge[] {
  const gauges = new Map<string, Gauge>()
  const gaugeOf = (queue: string): Gauge => {
    let gauge = gauges.get(queue)
    if (gauge === undefined) gauges.set(queue, (gauge = emptyGauge(queue)))
    return gauge
  }
  const counted = new Map<string, number>()
  for (const row of found) {
    const gauge = gaugeOf(row.queue)
    if (row.oldest !== null) gauge.oldestReadyMs = Math.min(gauge.oldestReadyMs ?? Infinity, row.oldest)
    const group = groupOf(row)
    if (isCapped.has(group)) {
      counted.set(group, (counted.get(group) ?? 0) + row.jobs)
      estimate(gauge, row.source === 'due' ? ['scheduled', 'retrying'] : [row.state])
    } else if (row.source === 'key') {
      if (!isCapped.has(groupOf({ ...row, source: 'keyed' }))) addKey(gauge, row)
    } else add(gauge, row, row.jobs)
  }
  const sampled = new Map<string, number>()
  for (const row of sample) {
    const { state, isKeyed, queue } = row
    if (row.key !== null) {
      if (isCapped.has(`keyed ${queue}`)) addKey(gaugeOf(queue), row)
      continue
    }
    const group = groupOf({ ...row, source: sourceOf(state, isKeyed) })
    if (!isCapped.has(group)) continue
    const gauge = gaugeOf(queue)
    if (state === 'running') estimate(gauge, ['running'])
    add(gauge, row, row.jobs)
    sampled.set(group, (sampled.get(group) ?? 0) + row.jobs)
  }
  // A sample may miss what is there: no fewer than were seen.
  const added = new Map<string, number>()
  for (const row of found) {
    const group = groupOf(row)
    const missing = (counted.get(group) ?? 0) - (sampled.get(group) ?? 0)
    if (row.source === 'key' || !isCapped.has(group) || missing <= (added.get(group) ?? 0)) continue
    const jobs = Math.min(row.jobs, missing - (added.get(group) ?? 0))
    added.set(group, (added.get(group) ?? 0) + jobs)
    add(gaugeOf(row.queue), row, jobs)
  }
  return [...gauges.values()]
}

function emptyGauge(queue: string): Gauge {
  return {
    queue,
    ...{ ready: 0, running: 0, scheduled: 0, retrying: 0, waiting: 0 },
    ...{ estimated: [], oldestReadyMs: null, kinds: {}, priorities: {}, topKeys: [] },
  }
}

function sourceOf(state: State, isKeyed: boolean): ProbeRow['source'] {
  if (state === 'ready') return isKeyed ? 'keyed' : 'level'
  return state === 'scheduled' || state === 'retrying' ? 'due' : state
}

function estimate(gauge: Gauge, states: readonly State[]): void {
  for (const state of states) if (!gauge.estimated.includes(state)) gauge.estimated.push(state)
}

function add(
  gauge: Gauge,
  { state, kind, priority }: Pick<SampleRow, 'state' | 'kind' | 'priority'>,
  jobs: number,
): void {
  gauge[state] += jobs
  if (kind !== null) {
    const ofKind = (gauge.kinds[kind] ??= {})
    ofKind[state] = (ofKind[state] ?? 0) + jobs
  }
  if (state === 'ready' && priority !== null)
    gauge.priorities[priority] = (gauge.priorities[priority] ?? 0) + jobs
}

function addKey(gauge: Gauge, { key, jobs }: { key: string | null; jobs: number }): void {
  if (key !== null && gauge.topKeys.length < topKeys) gauge.topKeys.push({ key, ready: jobs })
}
