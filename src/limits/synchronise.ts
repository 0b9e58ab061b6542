import type { JobContract } from '../contracts/contract.ts'
import { StintError } from '../core/errors.ts'
import type { Database } from '../db/database.ts'
import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { knownNamesSql } from './known-names.sql.ts'
import { lockRulesSql } from './lock-rules.sql.ts'
import { markLimitedSql } from './mark-limited.sql.ts'
import type { FlowRule } from './rules/rule.ts'
import { storeCoversSql } from './store-covers.sql.ts'
import { storeRulesSql } from './store-rules.sql.ts'

/** A stored rule that differed from the code and was replaced by it. */
export interface ReplacedRule {
  type: FlowRule['type']
  name: string
}

type Flow = Pick<JobContract, 'kind' | 'queue' | 'rates' | 'breakers' | 'ordered'>

/**
 * Stores the rules of a worker's code, and which queues and kinds they cover. Returns the rules that another program or an
 * older version had declared differently. Throws `limit-not-found` or `breaker-not-found` where a contract names a rule that
 * is neither here nor stored.
 */
export async function synchroniseRules(
  db: Database,
  rules: readonly FlowRule[],
  contracts: readonly Flow[],
): Promise<ReplacedRule[]> {
  const covers = coversOf(rules, contracts)
  return db.transaction(async (tx) => {
    await lockRules(tx)
    const texts = {
      limits: JSON.stringify([...ofType(rules, 'limit'), ...orderLimits(contracts)]),
      rates: JSON.stringify(ofType(rules, 'rate')),
      breakers: JSON.stringify(ofType(rules, 'breaker')),
      queues: JSON.stringify(ofType(rules, 'queue')),
    }
    type Stored = ReplacedRule & { changed: boolean }
    const stored = await run(tx, storeRulesSql, texts, (row: Stored) => row)
    await mustKnow(tx, contracts)
    const changed = await run(
      tx,
      storeCoversSql,
      { covers: JSON.stringify(covers), handled: JSON.stringify(handledBy(contracts)) },
      (row: { queue: string }) => row.queue,
    )
    const queues = [...new Set([...changed, ...covers.map(({ queue }) => queue)])]
    if (queues.length > 0) await markLimited(tx, queues)
    return stored.filter((rule) => rule.changed).map(({ type, name }) => ({ type, name }))
  })
}

/** One process at a time changes rules, for the rest of its transaction. */
export async function lockRules(tx: Queryable): Promise<void> {
  await run(tx, lockRulesSql, {}, () => undefined)
}

/** Says of these queues whether a limit or a rate covers them. */
export async function markLimited(tx: Queryable, queues: readonly string[]): Promise<void> {
  await run(tx, markLimitedSql, { queues }, () => undefined)
}

/** The names of the limits and rates that a worker's code declares or uses. */
export function limitNames(rules: readonly FlowRule[], contracts: readonly Flow[]): string[] {
  const declared = rules.filter(({ type }) => type === 'limit' || type === 'rate').map(({ name }) => name)
  const named = contracts.flatMap(({ rates }) => rates)
  return [...new Set([...declared, ...named, ...orderLimits(contracts).map(({ name }) => name)])]
}

function ofType(rules: readonly FlowRule[], type: FlowRule['type']): FlowRule[] {
  return rules.filter((rule) => rule.type === type)
}

interface StoredCover {
  queue: string
  type: 'concurrency' | 'rate' | 'breaker'
  name: string
  kinds: readonly string[] | null
}

function coversOf(rules: readonly FlowRule[], contracts: readonly Flow[]): StoredCover[] {
  const limits = rules.flatMap((rule) =>
    rule.type === 'limit'
      ? rule.covers.map(({ queue, kinds }) => ({
          queue,
          type: 'concurrency' as const,
          name: rule.name,
          kinds,
        }))
      : [],
  )
  return [
    ...limits,
    ...orderLimits(contracts).map(({ name, queue, kinds }) => ({
      queue,
      type: 'concurrency' as const,
      name,
      kinds,
    })),
    ...namedBy(contracts, 'rate', ({ rates }) => rates),
    ...namedBy(contracts, 'breaker', ({ breakers }) => breakers),
  ]
}

function namedBy(
  contracts: readonly Flow[],
  type: 'rate' | 'breaker',
  namesOf: (contract: Flow) => readonly string[],
): StoredCover[] {
  const covers = new Map<string, StoredCover & { kinds: string[] }>()
  for (const contract of contracts) {
    for (const name of namesOf(contract)) {
      const { queue, kind } = contract
      const address = `${queue} ${name}`
      const cover = covers.get(address) ?? { queue, type, name, kinds: [] }
      covers.set(address, cover)
      cover.kinds.push(kind)
    }
  }
  return [...covers.values()]
}

/** Order by key comes with a limit of one running job per key, over the ordered kinds of a queue. */
function orderLimits(contracts: readonly Flow[]): {
  name: string
  queue: string
  kinds: string[]
  byKey: true
  max: 1
  onLimit: 'wait'
}[] {
  const kinds = new Map<string, string[]>()
  for (const { queue, kind, ordered } of contracts)
    if (ordered !== undefined) kinds.set(queue, [...(kinds.get(queue) ?? []), kind])
  return [...kinds].map(([queue, ordered]) => ({
    name: `${queue.slice(0, 122)}/order`,
    queue,
    kinds: ordered,
    byKey: true,
    max: 1,
    onLimit: 'wait',
  }))
}

function handledBy(contracts: readonly Flow[]): { queue: string; kinds: string[] }[] {
  const queues = new Map<string, string[]>()
  for (const { queue, kind } of contracts) queues.set(queue, [...(queues.get(queue) ?? []), kind])
  return [...queues].map(([queue, kinds]) => ({ queue, kinds }))
}

async function mustKnow(tx: Parameters<typeof run>[0], contracts: readonly Flow[]): Promise<void> {
  if (contracts.every(({ rates, breakers }) => rates.length + breakers.length === 0)) return
  const known = await run(tx, knownNamesSql, {}, (row: { type: string; name: string }) => row)
  const has = (type: string, name: string): boolean =>
    known.some((one) => one.type === type && one.name === name)
  for (const { kind, rates, breakers } of contracts) {
    const rate = rates.find((name) => !has('rate', name))
    if (rate !== undefined) throw unknownRule('limit-not-found', { kind, name: rate, define: 'defineRate' })
    const breaker = breakers.find((name) => !has('breaker', name))
    if (breaker !== undefined)
      throw unknownRule('breaker-not-found', { kind, name: breaker, define: 'defineBreaker' })
  }
}

function unknownRule(
  code: 'limit-not-found' | 'breaker-not-found',
  { kind, name, define }: { kind: string; name: string; define: string },
): StintError {
  return new StintError(
    code,
    `The contract '${kind}' names '${name}', which does not exist: define it with ${define}({ name: '${name}', … }) and give it to new Worker({ flow: [ … ] }).`,
    {
      issues: [
        {
          path: define === 'defineRate' ? 'rates' : 'breakers',
          message: `names '${name}', which does not exist`,
        },
      ],
    },
  )
}
