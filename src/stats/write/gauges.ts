import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { gaugeProbeSql } from './gauge-probe.sql.ts'
import { gaugeSampleSql } from './gauge-sample.sql.ts'
import { refreshPressureSql } from './refresh-pressure.sql.ts'
import { writeGaugesSql } from './write-gauges.sql.ts'

/** How often the gauges are refreshed while they change. */
export const gaugesEveryMs = 2_000
/** How often they are refreshed while they do not change, and this process knows of nothing that would change them. */
const quietMs = 10_000
/** After a refresh we rest for this many times the time that it took in the database, up to a minute. */
const rest = 20
const longestRestMs = 60_000
/**
 * Rows that are counted in all groups of a sort together. Each group is counted up to its share; a larger one is
 * estimated. Half as many rows for groups that are scattered over the table.
 */
const usualRows = 6_000
/** How long a sample of the table is used again while nothing seems to change. */
const keptSampleMs = 30_000
/** Rows of a group that was found to be large: whether it still is, and how old its oldest is. */
const briefly = 100
/** Groups of a sort that are looked for. */
const groups = 500
/** Pages of the table that an estimate is made from. */
const pages = 100
/** A sample with at least this many rows of a group is a good sample of it. */
const goodSample = 400
/** How far an estimate may be from the shown figure before that changes, for a good sample and for a poor one. */
const nearGood = 0.03
const nearPoor = 0.3
const topKeys = 50

/** What the gauges need to know of the process that refreshes them. */
export interface GaugesConfig {
  /** When it last heard or did something that changes what queues have, as performance.now(). @default never */
  stirredAt?: (() => number) | undefined
  /** Rows that all groups of a sort share. @default 6,000 */
  rows?: number | undefined
}

/**
 * Refreshes stint.queue_gauge for every queue. Only the leading process does it; if two do, both write correct figures.
 */
export class Gauges {
  readonly #stirredAt: () => number
  readonly #rows: number
  #lookedAt = -Infinity
  #restUntil = -Infinity
  #quietUntil = -Infinity
  #written: string | undefined
  #lastSample: { at: number; of: string; rows: SampleRow[] } = { at: -Infinity, of: '', rows: [] }
  /** How many jobs each group has that was too large to be counted. */
  #estimates: ReadonlyMap<string, Estimate> = new Map()

  constructor({ stirredAt = () => -Infinity, rows = usualRows }: GaugesConfig = {}) {
    this.#stirredAt = stirredAt
    this.#rows = rows
  }

  /** One turn, every 2 s: does nothing where it cost too much the last time, or nothing seems to have changed. */
  async turn(db: Queryable): Promise<void> {
    const now = performance.now()
    const isQuiet = now < this.#quietUntil && this.#stirredAt() < this.#lookedAt
    if (now >= this.#restUntil && !isQuiet) await this.refresh(db)
  }

  /** Measures the queues and stores their gauges. */
  async refresh(db: Queryable): Promise<void> {
    this.#lookedAt = performance.now()
    const large = [...this.#estimates].filter(([, { isGood }]) => isGood).map(([group]) => group)
    const request = { rows: this.#rows, briefly, groups, topKeys, large }
    const found = await run(db, gaugeProbeSql, request, (row: ProbeRow) => row)
    const capped = cappedIn(found)
    const isBeyond = capped.size > 0 || cutIn(found).size > 0
    const sample = isBeyond ? await this.#sample(db, found) : []
    const { gauges, estimates } = gaugesOf({ found, sample, capped, before: this.#estimates })
    this.#estimates = estimates
    const told = JSON.stringify(gauges)
    // Only the time in the database counts: waiting in this process costs the database nothing.
    const tookMs = longest(found) + longest(sample)
    const isSame = told === this.#written
    // If there are no gauges now and were none before, there is no row whose age would matter.
    if (!isSame || gauges.length > 0) {
      this.#written = undefined
      const [row] = await run(
        db,
        writeGaugesSql,
        { gauges: told, tookMs },
        (row: { hasRules: boolean }) => row,
      )
      this.#written = told
      if (gauges.length > 0 && row?.hasRules === true) await run(db, refreshPressureSql, {}, () => undefined)
    }
    const now = performance.now()
    this.#restUntil = now + Math.min(longestRestMs, rest * tookMs)
    // A little less, so that the first turn after that time refreshes.
    this.#quietUntil = isSame ? now + quietMs - gaugesEveryMs / 2 : -Infinity
  }

  /** The last sample is kept for half a minute while the probe finds the same and this process knows of nothing that changed. */
  async #sample(db: Queryable, found: readonly ProbeRow[]): Promise<SampleRow[]> {
    const probed = JSON.stringify(found.map((row) => ({ ...row, took: 0 })))
    const { at, of, rows } = this.#lastSample
    if (of === probed && at > this.#stirredAt() && at > this.#lookedAt - keptSampleMs) return rows
    const sample = await run(db, gaugeSampleSql, { pages, topKeys }, (row: SampleRow) => row)
    // Kept without the time that it took: that is spent.
    this.#lastSample = { at: this.#lookedAt, of: probed, rows: sample.map((row) => ({ ...row, took: 0 })) }
    return sample
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
  /** How many of them the sample has; null of a key. */
  rows: number | null
  /** Of ready jobs with keys, which no index has in the order of time. */
  oldest: number | null
  took: number
}

type State = 'ready' | 'running' | 'scheduled' | 'retrying' | 'waiting'

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

interface Estimate {
  jobs: number
  /** The figure that people see. */
  shown: number
  /** Its share of the samples is large enough to rely on them. */
  isGood: boolean
}

/** What is known of a group that is too large to be counted. */
interface Beyond {
  counted: ProbeRow[]
  sampled: SampleRow[]
}

/** The gauges, and what was estimated for them. */
function gaugesOf({
  found,
  sample,
  capped,
  before,
}: {
  found: readonly ProbeRow[]
  sample: readonly SampleRow[]
  capped: ReadonlySet<string>
  before: ReadonlyMap<string, Estimate>
}): { gauges: Gauge[]; estimates: ReadonlyMap<string, Estimate> } {
  const gauges = new Map<string, Gauge>()
  const gaugeOf = (queue: string): Gauge => {
    let gauge = gauges.get(queue)
    if (gauge === undefined) gauges.set(queue, (gauge = emptyGauge(queue)))
    return gauge
  }
  const seen = new Set<string>()
  const beyond = new Map<string, Beyond>()
  const beyondOf = (group: string): Beyond => {
    let one = beyond.get(group)
    if (one === undefined) beyond.set(group, (one = { counted: [], sampled: [] }))
    return one
  }
  for (const row of found) {
    const gauge = gaugeOf(row.queue)
    older(gauge, row.oldest)
    const group = groupOf(row)
    seen.add(group)
    if (capped.has(group)) {
      beyondOf(group).counted.push(row)
      estimate(gauge, row.source === 'due' ? ['scheduled', 'retrying'] : [row.state])
    } else if (row.source === 'key') {
      if (!capped.has(groupOf({ ...row, source: 'keyed' }))) addKey(gauge, row)
    } else add(gauge, row, row.jobs)
  }
  const cut = cutIn(found)
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
    beyondOf(group).sampled.push(row)
  }
  const estimates = new Map<string, Estimate>()
  for (const [group, one] of beyond) {
    const guess = guessOf(one, before.get(group))
    estimates.set(group, guess)
    const parts = guess.isGood || one.counted.length === 0 ? one.sampled : one.counted
    const scale = guess.shown / sum(parts.map(({ jobs }) => jobs))
    for (const part of parts) add(gaugeOf(part.queue), part, Math.round(part.jobs * scale))
  }
  return { gauges: [...gauges.values()], estimates }
}

/**
 * Estimates how many jobs a group has, as a weighted mean of the last sample and the estimate before it. The more rows
 * of the group the last sample has, the more it weighs. Never fewer than were counted. The shown figure stays while the
 * estimate is near it: growth elsewhere in the table shifts the sampled pages, and an idle queue should show one number.
 */
function guessOf({ counted, sampled }: Beyond, before: Estimate | undefined): Estimate {
  const jobs = sum(sampled.map((row) => row.jobs))
  const inSample = sum(sampled.map((row) => row.rows ?? 0))
  const isGood = inSample >= goodSample || (before?.isGood === true && 2 * inSample >= goodSample)
  // If the quality of the sample changed, the size of the group has changed: earlier estimates do not count.
  const isSame = before !== undefined && before.isGood === isGood
  const weight = isSame ? Math.min(0.5, Math.max(0.1, inSample / goodSample)) : 1
  const guess = jobs * weight + (isSame ? before.jobs : 0) * (1 - weight)
  const least = sum(counted.map((row) => row.jobs))
  // A group whose samples alternate between good and poor has not changed: it gets the wide margin.
  const near = isSame && isGood ? nearGood : nearPoor
  const isNear = before !== undefined && Math.abs(guess / before.shown - 1) < near
  return { jobs: guess, shown: Math.round(Math.max(isNear ? before.shown : guess, least)), isGood }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** Of a Date. */
const latestMs = 8.64e15

function older(gauge: Gauge, oldest: number | null): void {
  // A row that was written by hand may have a time that no Date can show.
  if (oldest !== null && Math.abs(oldest) <= latestMs)
    gauge.oldestReadyMs = Math.min(gauge.oldestReadyMs ?? Infinity, oldest)
}

function emptyGauge(queue: string): Gauge {
  return {
    queue,
    ready: 0,
    running: 0,
    scheduled: 0,
    retrying: 0,
    waiting: 0,
    estimated: [],
    oldestReadyMs: null,
    priorities: {},
    topKeys: [],
    // Without a prototype: a kind may be named __proto__, and would be counted in that of all objects.
    kinds: Object.create(null) as Gauge['kinds'],
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
  if (key !== null && gauge.topKeys.length < topKeys) gauge.topKeys.push({ key, ready: Math.round(jobs) })
}
