import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { gaugeProbeSql } from './gauge-probe.sql.ts'
import { gaugeSampleSql } from './gauge-sample.sql.ts'
import { writeGaugesSql } from './write-gauges.sql.ts'

/** How often the gauges are refreshed while they change. */
export const gaugesEveryMs = 2_000
/** And while they do not, and nothing is heard of that would change them. */
const quietMs = 10_000
/** A refresh rests for so many times what it cost the database, up to a minute. */
const rest = 20
const longestRestMs = 60_000
/** Counted one by one up to here; beyond, and where there are many groups sooner, it is an estimate. */
const cap = 10_000
/** Rows that all groups of a sort share; of those that lie about in the table half as many. */
const rows = 10_000
/** Rows of a group that was found to be large: whether it still is, and how old its oldest is. */
const glance = 100
/** Groups of a sort that are looked for. */
const groups = 500
/** Pages of the table that an estimate is made from. */
const pages = 150
const topKeys = 50

/** What the gauges need to know of the process that refreshes them. */
export interface GaugesConfig {
  /** When it last heard or did something that changes what queues have, as performance.now(). @default never */
  stirredAt?: (() => number) | undefined
}

/**
 * Refreshes what stint.queue_gauge says of every queue. Of all processes one does, the leader; where two do, both are
 * right.
 */
export class Gauges {
  readonly #stirredAt: () => number
  #lookedAt = -Infinity
  #restUntil = -Infinity
  #quietUntil = -Infinity
  #written: string | undefined
  #large: readonly string[] = []

  constructor({ stirredAt = () => -Infinity }: GaugesConfig = {}) {
    this.#stirredAt = stirredAt
  }

  /** One turn, every 2 s: does nothing where it cost too much the last time, or nothing seems to have changed. */
  async turn(db: Queryable): Promise<void> {
    const now = performance.now()
    const isQuiet = now < this.#quietUntil && this.#stirredAt() < this.#lookedAt
    if (now >= this.#restUntil && !isQuiet) await this.refresh(db)
  }

  /** Looks, and writes what is to be told. */
  async refresh(db: Queryable): Promise<void> {
    this.#lookedAt = performance.now()
    const request = { cap, rows, glance, groups, topKeys, large: this.#large }
    const found = await run(db, gaugeProbeSql, request, (row: ProbeRow) => row)
    const capped = cappedIn(found)
    const isBeyond = capped.size > 0 || cutIn(found).size > 0
    const sample = isBeyond ? await run(db, gaugeSampleSql, { pages, topKeys }, toSample) : []
    const { gauges, sizes } = gaugesOf(found, sample, capped)
    this.#large = [...sizes].filter(([, jobs]) => jobs > 2 * cap).map(([group]) => group)
    const told = JSON.stringify(gauges)
    // Its time in the database: what it waited for here costs nobody anything.
    const tookMs = longest(found) + longest(sample)
    const isSame = told === this.#written
    // Where there is nothing, and was nothing, there is no row whose age would matter.
    if (!isSame || gauges.length > 0) {
      this.#written = undefined
      await run(db, writeGaugesSql, { gauges: told, tookMs }, () => undefined)
      this.#written = told
    }
    const now = performance.now()
    this.#restUntil = now + Math.min(longestRestMs, rest * tookMs)
    // A little less, so that the turn after that time is one that looks.
    this.#quietUntil = isSame ? now + quietMs - gaugesEveryMs / 2 : -Infinity
  }
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
  /** Of ready jobs with keys, which no index has in the order of time. */
  oldest: number | null
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

/** The sorts of which there are more groups than were looked for. */
function cutIn(found: readonly ProbeRow[]): ReadonlySet<string> {
  const seen = new Map<string, Set<string>>()
  for (const row of found) {
    const ofSort = seen.get(row.source) ?? new Set()
    seen.set(row.source, ofSort.add(groupOf(row)))
  }
  return new Set([...seen].filter(([, ofSort]) => ofSort.size >= groups).map(([source]) => source))
}

/** The gauges, and how many jobs each group has that was too large to be counted. */
function gaugesOf(
  found: readonly ProbeRow[],
  sample: readonly SampleRow[],
  capped: ReadonlySet<string>,
): { gauges: Gauge[]; sizes: ReadonlyMap<string, number> } {
  const gauges = new Map<string, Gauge>()
  const gaugeOf = (queue: string): Gauge => {
    let gauge = gauges.get(queue)
    if (gauge === undefined) gauges.set(queue, (gauge = emptyGauge(queue)))
    return gauge
  }
  const seen = new Set<string>()
  const counted = new Map<string, number>()
  for (const row of found) {
    const gauge = gaugeOf(row.queue)
    older(gauge, row.oldest)
    const group = groupOf(row)
    seen.add(group)
    if (capped.has(group)) {
      counted.set(group, (counted.get(group) ?? 0) + row.jobs)
      estimate(gauge, row.source === 'due' ? ['scheduled', 'retrying'] : [row.state])
    } else if (row.source === 'key') {
      if (!capped.has(groupOf({ ...row, source: 'keyed' }))) addKey(gauge, row)
    } else add(gauge, row, row.jobs)
  }
  const cut = cutIn(found)
  const sampled = new Map<string, number>()
  for (const row of sample) {
    const { state, isKeyed, queue } = row
    if (row.key !== null) {
      if (capped.has(`keyed ${queue}`)) addKey(gaugeOf(queue), row)
      continue
    }
    const source = sourceOf(state, isKeyed)
    const group = groupOf({ ...row, source })
    if (!capped.has(group) && (seen.has(group) || !cut.has(source))) continue
    const gauge = gaugeOf(queue)
    estimate(gauge, [state])
    if (isKeyed) older(gauge, row.oldest)
    add(gauge, row, row.jobs)
    sampled.set(group, (sampled.get(group) ?? 0) + row.jobs)
  }
  // A sample may miss what is there: no fewer than were seen.
  const added = new Map<string, number>()
  for (const row of found) {
    const group = groupOf(row)
    const missing = (counted.get(group) ?? 0) - (sampled.get(group) ?? 0)
    if (row.source === 'key' || !capped.has(group) || missing <= (added.get(group) ?? 0)) continue
    const jobs = Math.min(row.jobs, missing - (added.get(group) ?? 0))
    added.set(group, (added.get(group) ?? 0) + jobs)
    add(gaugeOf(row.queue), row, jobs)
  }
  return { gauges: [...gauges.values()], sizes: sampled }
}

function older(gauge: Gauge, oldest: number | null): void {
  if (oldest !== null) gauge.oldestReadyMs = Math.min(gauge.oldestReadyMs ?? Infinity, oldest)
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
