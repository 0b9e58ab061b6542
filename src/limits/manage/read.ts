import { FarTime } from '../../core/far-time.ts'
import { numbersIn, objectIn } from '../../core/json/stored-json.ts'
import { run } from '../../db/statement.ts'
import type { Queryable } from '../../db/statement.ts'
import { holdersSql } from './holders.sql.ts'
import { keyRuleSql } from './key-rule.sql.ts'
import { keyRulesSql } from './key-rules.sql.ts'
import { namesOfQueueSql } from './names-of-queue.sql.ts'
import { ruleNamesSql } from './rule-names.sql.ts'
import { storedRulesSql } from './stored-rules.sql.ts'
import { readUse } from './use.ts'
import type { LimitUse } from './use.ts'

export type LimitType = 'concurrency' | 'rate' | 'missing'

/** A concurrency limit or a rate as people see it. */
export interface LimitInfo extends LimitUse {
  name: string
  /** `missing`: there are key rules of this name, but no limit. */
  type: LimitType
  /** Each key counts by itself. */
  byKey: boolean
  /** The queues, or some kinds of them, that it is about; `kinds` null: all. */
  covers: { queue: string; kinds: string[] | null }[]
  /** Jobs at once, as it holds now; of a limit by key, those of each key. Null for a rate. */
  max: number | null
  /** Tokens per period, as it holds now. Null for a limit. */
  tokens: number | null
  /** What the code says, also while it is overridden: `max` or `tokens`. */
  declared: number | null
  /** Maximums by tier, for keys. */
  tiers: Record<string, number>
  onLimit: string | null
  periodMs: number | null
  burst: number | null
  keep: number | null
  override: LimitOverride | null
  /** Rules of single keys; counted up to 1,000. */
  keyRules: number
  source: 'code' | 'runtime' | null
  /** No live worker has it in its code: it can be deleted. */
  isOrphan: boolean
  /** What is wrong with the stored row; such parts have no effect. */
  broken: string | null
  updatedAt: Date | null
}

/** A person's change of a limit, until it ends. */
export interface LimitOverride {
  /** Instead of `max`, or of `tokens`. */
  to: number
  /** Null: until it is cleared. */
  until: Date | null
  by: string | null
  reason: string | null
}

export interface LimitDetails extends LimitInfo {
  /** The running jobs that it counts, the longest first; at most 10. */
  holders: LimitHolder[]
  /** Changes with every change of the stored limit. */
  version: string
}

export interface LimitHolder {
  id: string
  queue: string
  kind: string
  key: string | null
  workerId: string | null
  startedAt: Date | null
}

/** What one key has of a limit, beside all others. */
export interface KeyRule {
  key: string
  max: number | null
  /** Its share of the slots, among the keys of the queues that the limit covers. */
  weight: number | null
  tier: string | null
  /** Null: until it is cleared. */
  until: Date | null
  /** False once its end has come. */
  isActive: boolean
  by: string | null
  reason: string | null
  updatedAt: Date
}

/** A limit as it is now, with what a change of it needs. */
export interface FoundLimit {
  info: LimitInfo
  version: string
  nowMs: number
}

interface RuleRow {
  name: string
  type: 'concurrency' | 'rate' | null
  byKey: boolean | null
  amount: number | null
  tiers: unknown
  onLimit: string | null
  periodMs: number | null
  burst: number | null
  keep: number | null
  source: 'code' | 'runtime' | null
  updatedAt: Date | null
  overrideTo: number | null
  overrideUntil: Date | null
  overrideBy: string | null
  overrideReason: string | null
  isOverridden: boolean | null
  version: string
  covers: unknown
  keyRules: number
  isOrphan: boolean
  nowMs: number
}

/** A page of limits and rates by name: all, or those that cover a queue. */
export async function listLimits(
  db: Queryable,
  { queue, ...page }: { after: string; limit: number; queue: string | undefined },
): Promise<LimitInfo[]> {
  const toName = (row: { name: string }): string => row.name
  const names =
    queue === undefined
      ? await run(db, ruleNamesSql, page, toName)
      : await run(db, namesOfQueueSql, { ...page, queue }, toName)
  return (await findLimits(db, names)).map(({ info }) => info)
}

/** The limit and the rate of each name: usually one of them. */
export async function findLimits(db: Queryable, names: readonly string[]): Promise<FoundLimit[]> {
  if (names.length === 0) return []
  const rows = await run(db, storedRulesSql, { names }, (row: RuleRow) => row)
  const rules = rows
    .filter(({ type, keyRules }) => type !== null || keyRules > 0)
    .map((row) => ({ row, rule: toRule(row) }))
  const uses = await readUse(
    db,
    rules.map(({ rule }) => rule),
  )
  return rules.map(({ row, rule }, place) => {
    const hasTwin = rules.some((other) => other.row.name === row.name && other.row.type !== row.type)
    const broken = rule.broken ?? (hasTwin ? 'a limit and a rate have this name' : null)
    return {
      info: { ...rule, ...(uses[place] as LimitUse), broken },
      version: row.version,
      nowMs: row.nowMs,
    }
  })
}

const shownHolders = 10
/** Running jobs that one statement reads at most. */
const mostRunning = 20_000

export function readHolders(db: Queryable, name: string): Promise<LimitHolder[]> {
  const request = { name, limit: shownHolders, most: mostRunning }
  return run(db, holdersSql, request, (row: LimitHolder) => row)
}

export function listKeyRules(
  db: Queryable,
  request: { name: string; after: string; limit: number },
): Promise<KeyRule[]> {
  return run(db, keyRulesSql, request, toKeyRule)
}

export async function getKeyRule(
  db: Queryable,
  request: { name: string; key: string },
): Promise<KeyRule | undefined> {
  const [found] = await run(db, keyRuleSql, request, toKeyRule)
  return found
}

function toKeyRule(row: KeyRule): KeyRule {
  return { ...row, until: endOf(row.until) }
}

function toRule(row: RuleRow): Omit<LimitInfo, keyof LimitUse> {
  const { name, type, amount } = row
  const override = overrideOf(row)
  const now = override?.to ?? amount
  return {
    name,
    type: type ?? 'missing',
    byKey: row.byKey ?? false,
    covers: coversOf(row.covers),
    max: type === 'concurrency' ? now : null,
    tokens: type === 'rate' ? now : null,
    declared: amount,
    tiers: numbersIn(row.tiers),
    onLimit: row.onLimit,
    periodMs: row.periodMs,
    burst: row.burst,
    keep: row.keep,
    override,
    keyRules: row.keyRules,
    source: row.source,
    isOrphan: row.isOrphan,
    broken: brokenIn(row),
    updatedAt: row.updatedAt,
  }
}

function overrideOf({
  isOverridden,
  overrideTo,
  overrideUntil,
  overrideBy,
  overrideReason,
}: RuleRow): LimitOverride | null {
  if (isOverridden !== true || overrideTo === null) return null
  return { to: overrideTo, until: endOf(overrideUntil), by: overrideBy, reason: overrideReason }
}

/** Stored rows are input: another role may have written them. */
function brokenIn({ type, tiers, overrideTo, overrideUntil }: RuleRow): string | null {
  if (type === null) return 'there are rules of keys, but no limit of this name'
  const tier = Object.entries(objectIn(tiers)).find(([, max]) => !Number.isFinite(max))
  if (tier !== undefined) return `the tier '${tier[0]}' is not a number`
  if (overrideTo !== null && overrideUntil === null) return 'the override has no end'
  if (overrideTo === null && overrideUntil !== null) return 'the override has no value'
  return null
}

/** Null for an end that never comes. */
function endOf(until: Date | null): Date | null {
  return until instanceof FarTime ? null : until
}

function coversOf(covers: unknown): LimitInfo['covers'] {
  return (Array.isArray(covers) ? covers : []).flatMap((cover: unknown) => {
    const { queue, kinds } = objectIn(cover)
    if (typeof queue !== 'string') return []
    return [{ queue, kinds: Array.isArray(kinds) ? kinds.filter((kind) => typeof kind === 'string') : null }]
  })
}
