import { numberIn, objectIn, textIn } from '../../core/json/stored-json.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { rateLevelsSql } from './rate-levels.sql.ts'
import { readyOfSql } from './ready-of.sql.ts'
import { useOfLimitsSql } from './use-of-limits.sql.ts'

/** How much of a limit or rate is used now. */
export interface LimitUse {
  /** The running jobs that it counts, of all keys together. Null for a rate. */
  used: number | null
  /** Tokens in the bucket; below 0 when tokens to come were promised. Null for a limit, and for a rate by key. */
  available: number | null
  /** When a job of one token may start; 0: now. Null for a limit, and for a rate by key. */
  nextTokenMs: number | null
  /** It was penalised, and gives no token until then. */
  blockedUntil: Date | null
  /** The keys that are nearest to their limit, up to 10. */
  keys: KeyUse[]
  /** Keys that cannot start another job now. */
  keysAtLimit: number
  /** About how many ready jobs it keeps waiting now; null if nobody counts ready jobs. */
  readyBehind: number | null
}

/** What one key uses: of a limit `used` and `max`, of a rate `available` and `nextTokenMs`. */
export interface KeyUse {
  key: string
  used: number | null
  max: number | null
  available: number | null
  nextTokenMs: number | null
  /** About how many jobs of it are ready, if it is among the keys with the most. */
  ready: number | null
}

interface Rule {
  name: string
  type: 'concurrency' | 'rate' | 'missing'
  byKey: boolean
  covers: readonly { queue: string; kinds: readonly string[] | null }[]
  max: number | null
}

interface LimitRow {
  name: string
  key: string | null
  used: number
  max: number | null
  atLimit: number
}

interface LevelRow {
  name: string
  key: string | null
  tokens: number
  nextMs: number
  blockedUntil: Date | null
}

/** The ready jobs of a queue, as they were last counted. */
interface Ready {
  all: number
  kinds: Readonly<Record<string, unknown>>
  keys: readonly { key: string; ready: number }[]
}

const shownKeys = 10
const mostRunning = 20_000
const mostWaitingKeys = 1_000

/** The use of each rule, in the order of the rules. */
export async function readUse(db: Queryable, rules: readonly Rule[]): Promise<LimitUse[]> {
  const queues = [...new Set(rules.flatMap(({ covers }) => covers.map(({ queue }) => queue)))]
  const ready = await readReady(db, queues)
  const keys = [...new Set(rules.filter(({ byKey }) => byKey).flatMap((rule) => keysWaiting(rule, ready)))]
  const asked = keys.slice(0, mostWaitingKeys)
  const named = (type: Rule['type']): string[] =>
    rules.filter((rule) => rule.type === type).map(({ name }) => name)
  const [limits, rates] = [named('concurrency'), named('rate')]
  const used =
    limits.length === 0
      ? []
      : await run(
          db,
          useOfLimitsSql,
          { names: limits, keys: asked, most: mostRunning },
          (row: LimitRow) => row,
        )
  const levels =
    rates.length === 0
      ? []
      : await run(db, rateLevelsSql, { names: rates, keys: asked }, (row: LevelRow) => row)
  return rules.map((rule) => {
    if (rule.type === 'missing') return unused
    const own = { rule, ready }
    return rule.type === 'concurrency'
      ? limitUse(
          own,
          used.filter(({ name }) => name === rule.name),
        )
      : rateUse(
          own,
          levels.filter(({ name }) => name === rule.name),
        )
  })
}

interface Own {
  rule: Rule
  ready: ReadonlyMap<string, Ready>
}

const unused: LimitUse = {
  used: null,
  available: null,
  nextTokenMs: null,
  blockedUntil: null,
  keys: [],
  keysAtLimit: 0,
  readyBehind: null,
}

function limitUse({ rule, ready }: Own, rows: readonly LimitRow[]): LimitUse {
  const used = rows.find(({ key }) => key === null)?.used ?? 0
  const keys = rows.flatMap((row) =>
    row.key === null
      ? []
      : [
          {
            key: row.key,
            used: row.used,
            max: row.max,
            ...noTokens,
            ready: readyOfKey(rule, row.key, ready),
          },
        ],
  )
  const isFull = ({ used: own, max }: KeyUse): boolean => (own ?? 0) >= (max ?? 0)
  return {
    ...unused,
    used,
    keys: keys.slice(0, shownKeys),
    keysAtLimit: rows.find(({ key }) => key !== null)?.atLimit ?? 0,
    readyBehind: rule.byKey
      ? sumOfReady(keys.filter(isFull), ready)
      : used >= (rule.max ?? 0)
        ? readyOf(rule, ready)
        : 0,
  }
}

const noTokens = { available: null, nextTokenMs: null }

function rateUse({ rule, ready }: Own, rows: readonly LevelRow[]): LimitUse {
  if (!rule.byKey) {
    const [bucket] = rows
    if (bucket === undefined) return unused
    const { tokens, nextMs, blockedUntil } = bucket
    const readyBehind = nextMs > 0 ? readyOf(rule, ready) : 0
    return { ...unused, available: tokens, nextTokenMs: nextMs, blockedUntil, readyBehind }
  }
  const keys = rows
    .toSorted((one, other) => other.nextMs - one.nextMs || one.tokens - other.tokens)
    .map(({ key, tokens, nextMs }) => ({
      key: key ?? '',
      used: null,
      max: null,
      available: tokens,
      nextTokenMs: nextMs,
      ready: readyOfKey(rule, key ?? '', ready),
    }))
  const empty = keys.filter(({ nextTokenMs }) => nextTokenMs > 0)
  return {
    ...unused,
    keys: keys.slice(0, shownKeys),
    keysAtLimit: empty.length,
    readyBehind: sumOfReady(empty, ready),
  }
}

async function readReady(db: Queryable, queues: readonly string[]): Promise<Map<string, Ready>> {
  if (queues.length === 0) return new Map()
  type Row = { queue: string; ready: number; kinds: unknown; topKeys: unknown }
  const rows = await run(db, readyOfSql, { queues }, (row: Row) => row)
  return new Map(
    rows.map(({ queue, ready, kinds, topKeys }) => [
      queue,
      {
        all: ready,
        kinds: objectIn(kinds),
        keys: (Array.isArray(topKeys) ? topKeys : []).flatMap((one: unknown) => {
          const [key, count] = [textIn(one, 'key'), numberIn(one, 'ready')]
          return key === null || count === null ? [] : [{ key, ready: count }]
        }),
      },
    ]),
  )
}

function keysWaiting({ covers }: Rule, ready: ReadonlyMap<string, Ready>): string[] {
  return covers.flatMap(({ queue }) => ready.get(queue)?.keys.map(({ key }) => key) ?? [])
}

function readyOf({ covers }: Rule, ready: ReadonlyMap<string, Ready>): number | null {
  if (ready.size === 0) return null
  let sum = 0
  for (const { queue, kinds } of covers) {
    const own = ready.get(queue)
    if (own === undefined) continue
    if (kinds === null) sum += own.all
    else for (const kind of kinds) sum += numberIn(own.kinds[kind], 'ready') ?? 0
  }
  return sum
}

function readyOfKey({ covers }: Rule, key: string, ready: ReadonlyMap<string, Ready>): number | null {
  const found = covers.flatMap(({ queue }) => ready.get(queue)?.keys.filter((one) => one.key === key) ?? [])
  return found.length === 0 ? null : found.reduce((sum, one) => sum + one.ready, 0)
}

function sumOfReady(
  keys: readonly { ready: number | null }[],
  ready: ReadonlyMap<string, Ready>,
): number | null {
  return ready.size === 0 ? null : keys.reduce((sum, { ready: own }) => sum + (own ?? 0), 0)
}
