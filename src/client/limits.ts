import type { Duration } from '../core/duration.ts'
import { StintError } from '../core/errors.ts'
import { nameOption } from '../core/names.ts'
import { integerOption, invalidOption, oneOfOption, rejectUnknown } from '../core/options.ts'
import { keyText } from '../jobs/new/enqueue-options.ts'
import {
  clearKeyRule,
  deleteRule,
  overrideRule,
  penaliseBucket,
  setKeyRule,
} from '../limits/manage/change.ts'
import type { OverrideChange } from '../limits/manage/change.ts'
import { findLimits, getKeyRule, listKeyRules, listLimits, readHolders } from '../limits/manage/read.ts'
import type { FoundLimit, KeyRule, LimitDetails, LimitInfo } from '../limits/manage/read.ts'
import { maxRange } from '../limits/rules/define-limit.ts'
import { tokensRange } from '../limits/rules/define-rate.ts'
import type { Calls } from './calls.ts'
import { endAt, endOption } from './end-option.ts'
import type { End } from './end-option.ts'

/** When a change ends by itself. */
export interface LimitEnd {
  /** A time in the future, or `'cleared'`: until a person ends it. */
  until?: Date | string | undefined
  /** How long it lasts, instead of `until`. */
  for?: Duration | undefined
}

export interface OverrideOptions extends LimitEnd {
  /** Jobs at once, for a concurrency limit; 0: none starts. */
  max?: number | undefined
  /** Tokens per period, for a rate. */
  tokens?: number | undefined
  /** Why: shown with the limit. */
  reason?: string | undefined
  /** The `version` that the caller read: if the limit has changed since, `state-changed`. */
  version?: string | undefined
}

export interface SetKeyOptions extends LimitEnd {
  /** Jobs of this key at once; 0: none starts. */
  max?: number | undefined
  /** Its share of the slots among the keys of its queues; 1 to 1,000. It replaces `keyWeight` of workers. */
  weight?: number | undefined
  /** The maximum of this tier of the limit. */
  tier?: string | undefined
  /** Why: shown with the rule. */
  reason?: string | undefined
}

export interface PenaliseOptions extends LimitEnd {
  /** The bucket, of a rate by key. */
  key?: string | undefined
}

export interface RuleListOptions {
  /** The last name of the previous page. */
  after?: string | undefined
  /** 1 to 1,000. @default 200 */
  limit?: number | undefined
  /** Only those that cover this queue or kinds of it. */
  queue?: string | undefined
}

export interface LimitsConfig {
  /** The author of changes. */
  by: string
  /** Called when rules have changed. */
  onChanged: () => void
}

const pageRange = { min: 1, max: 1_000 }
export const weightRange = { min: 1, max: 1_000 }

/** Concurrency limits and rates, which share one namespace: `stint.limits`. */
export class Limits {
  readonly #calls: Calls
  readonly #config: LimitsConfig

  constructor(calls: Calls, config: LimitsConfig) {
    this.#calls = calls
    this.#config = config
  }

  /** Limits and rates by name, with their use; pass the last name as `after` to get the next page. */
  async list(options: RuleListOptions = {}): Promise<LimitInfo[]> {
    const { after = '', limit = 200, queue, ...rest } = options
    rejectUnknown('limits.list()', rest, ['after', 'limit', 'queue'])
    const request = {
      after: storedText('after', after),
      limit: integerOption('limit', limit, pageRange),
      queue: queue === undefined ? undefined : nameOption('queue', queue),
    }
    return this.#calls.send((db) => db.transaction((tx) => listLimits(tx, request)))
  }

  /** One limit or rate with the jobs that hold it, or undefined if there is none of this name. */
  async get(name: string): Promise<LimitDetails | undefined> {
    const found = await this.#look(name)
    if (found === undefined) return undefined
    const holders =
      found.info.type === 'concurrency' ? await this.#calls.send((db) => readHolders(db, name)) : []
    return { ...found.info, holders, version: found.version }
  }

  /** The rules of single keys of a limit, by key; pass the last key as `after` to get the next page. */
  async keys(
    name: string,
    options: { after?: string | undefined; limit?: number | undefined } = {},
  ): Promise<KeyRule[]> {
    const { after = '', limit = 100, ...rest } = options
    rejectUnknown('limits.keys()', rest, ['after', 'limit'])
    const request = {
      name: storedText('name', name),
      after: storedText('after', after),
      limit: integerOption('limit', limit, pageRange),
    }
    return this.#calls.send((db) => listKeyRules(db, request))
  }

  /**
   * Replaces `max` of a concurrency limit or `tokens` of a rate, for all processes, until it ends. Running jobs are not
   * stopped. The rule in code stays as it is, and holds again afterwards.
   */
  async override(name: string, options: OverrideOptions): Promise<LimitDetails> {
    const { max, tokens, until, for: span, reason, version, ...rest } = options
    rejectUnknown('limits.override()', rest, ['max', 'tokens', 'until', 'for', 'reason', 'version'])
    if ((max === undefined) === (tokens === undefined))
      throw invalidOption('max', 'given for a concurrency limit, or `tokens` for a rate', max)
    const wanted = max === undefined ? 'rate' : 'concurrency'
    const amount =
      max === undefined ? integerOption('tokens', tokens, tokensRange) : integerOption('max', max, maxRange)
    const end = limitEnd({ until, for: span })
    if (end === undefined)
      throw invalidOption(
        'until',
        "a time, or 'cleared' for an override that lasts until it is cleared",
        until,
      )
    const said = reasonText(reason)
    return this.#change(name, { version, prefer: wanted }, ({ info: { type }, nowMs }) => {
      if (type !== wanted)
        throw invalidOption(
          max === undefined ? 'tokens' : 'max',
          type === 'rate' ? 'left out: this is a rate, which has `tokens`' : 'left out: this is not a rate',
          amount,
        )
      return { amount, until: endText(end, nowMs), by: this.#config.by, reason: said }
    })
  }

  /** Ends the override of a limit or a rate: what the code says holds again. Does nothing if there is none. */
  async clear(name: string, options: { version?: string | undefined } = {}): Promise<LimitDetails> {
    const { version, ...rest } = options
    rejectUnknown('limits.clear()', rest, ['version'])
    const none = { amount: null, until: null, by: null, reason: null }
    return this.#change(name, { version }, () => none)
  }

  /** Gives one key of a limit by key a maximum, a weight or a tier of its own. It replaces an earlier rule of the key. */
  async setKey(name: string, key: string, options: SetKeyOptions): Promise<KeyRule> {
    const { max, weight, tier, until, for: span, reason, ...rest } = options
    rejectUnknown('limits.setKey()', rest, ['max', 'weight', 'tier', 'until', 'for', 'reason'])
    const checked = keyText('key', key, 512)
    if (checked === undefined) throw invalidOption('key', 'a key', key)
    if (max === undefined && weight === undefined && tier === undefined)
      throw invalidOption('options', 'an object with `max`, `weight` or `tier`', options)
    if (max !== undefined && tier !== undefined)
      throw invalidOption('tier', 'left out if `max` is given', tier)
    const own = {
      max: max === undefined ? null : integerOption('max', max, maxRange),
      weight: weight === undefined ? null : integerOption('weight', weight, weightRange),
      tier: keyText('tier', tier, 128) ?? null,
      by: this.#config.by,
      reason: reasonText(reason),
    }
    const end = limitEnd({ until, for: span }) ?? 'cleared'
    const { info, nowMs } = await this.#find(name, 'concurrency')
    if (info.type !== 'concurrency')
      throw invalidOption('name', 'a concurrency limit: rates have no rules of single keys', name)
    if (!info.byKey && (max !== undefined || tier !== undefined))
      throw invalidOption('name', 'a limit by key: this one counts all keys together', name)
    if (tier !== undefined)
      oneOfOption(
        'tier',
        tier,
        Object.keys(info.tiers).length === 0 ? ['none is defined'] : Object.keys(info.tiers),
      )
    const change = { name, key: checked, ...own, until: endText(end, nowMs) }
    await this.#calls.write((db) => setKeyRule(db, change))
    this.#config.onChanged()
    const stored = await this.#calls.send((db) => getKeyRule(db, change))
    return stored ?? missingLimit(name)
  }

  /** Removes the rule of one key. Does nothing if there is none. */
  async clearKey(name: string, key: string): Promise<void> {
    const request = { name: storedText('name', name), key: storedText('key', key) }
    const isGone = await this.#calls.write((db) => clearKeyRule(db, request), { isDone: Boolean })
    if (!isGone) await this.#find(name)
    this.#config.onChanged()
  }

  /** Gives no token of a rate until a time: a provider has answered that there were too many requests. */
  async penalise(name: string, options: PenaliseOptions): Promise<LimitDetails> {
    const { key, until, for: span, ...rest } = options
    rejectUnknown('limits.penalise()', rest, ['key', 'until', 'for'])
    const end = limitEnd({ until, for: span })
    if (end === undefined || end === 'cleared')
      throw invalidOption('until', 'a time in the future, or left out if `for` is given', until)
    const bucket = keyText('key', key, 512)
    const { info, nowMs } = await this.#find(name, 'rate')
    if (info.type !== 'rate') throw invalidOption('name', 'a rate', name)
    if (info.byKey !== (bucket !== undefined))
      throw invalidOption(
        'key',
        info.byKey ? 'given: this rate is by key' : 'left out: this rate is not by key',
        key,
      )
    const request = { name, key: bucket ?? '', until: endText(end, nowMs) }
    await this.#calls.write((db) => penaliseBucket(db, request))
    this.#config.onChanged()
    return this.#details(name)
  }

  /**
   * Deletes a limit or a rate with its overrides, key rules and buckets. Refuses one that live workers have in their code.
   */
  async delete(name: string): Promise<void> {
    storedText('name', name)
    const isGone = await this.#calls.write(
      async (db, isRepeat) =>
        (await deleteRule(db, name)) || (isRepeat && (await findLimits(db, [name])).length === 0),
      { isTransaction: true, isDone: Boolean },
    )
    if (!isGone) {
      await this.#find(name)
      throw new StintError(
        'state-changed',
        `The limit '${name}' is in the code of live workers: remove it there, or override it.`,
      )
    }
    this.#config.onChanged()
  }

  /** Reads the limit and changes its override, again if it was changed in between and no version was asked for. */
  async #change(
    name: string,
    { version, prefer }: { version: string | undefined; prefer?: 'rate' | 'concurrency' },
    changeOf: (found: FoundLimit) => Omit<OverrideChange, 'name' | 'version'>,
  ): Promise<LimitDetails> {
    for (;;) {
      const found = await this.#find(name, prefer)
      const { type } = found.info
      if (type === 'missing') return missingLimit(name)
      if (version !== undefined && version !== found.version) throw changedLimit(name)
      const change = { name, version: found.version, ...changeOf(found) }
      const isNothing = change.amount === null && found.info.override === null && found.info.broken === null
      if (isNothing) return this.#details(name)
      if (await this.#calls.write((db) => overrideRule(db, type, change), { isDone: Boolean })) break
    }
    this.#config.onChanged()
    return this.#details(name)
  }

  async #details(name: string): Promise<LimitDetails> {
    return (await this.get(name)) ?? missingLimit(name)
  }

  async #find(name: string, prefer?: 'rate' | 'concurrency'): Promise<FoundLimit> {
    return (await this.#look(name, prefer)) ?? missingLimit(name)
  }

  /** If a limit and a rate have this name: the one that the caller prefers. */
  async #look(name: string, prefer?: 'rate' | 'concurrency'): Promise<FoundLimit | undefined> {
    storedText('name', name)
    const found = await this.#calls.send((db) => db.transaction((tx) => findLimits(tx, [name])))
    return found.find(({ info }) => info.type === prefer) ?? found[0]
  }
}

export function missingLimit(name: string): never {
  throw new StintError('limit-not-found', `There is no limit or rate '${name}': stint limit list shows all.`)
}

function changedLimit(name: string): StintError {
  return new StintError('state-changed', `The limit '${name}' has changed since it was read: read it again.`)
}

function limitEnd(options: LimitEnd): End | 'cleared' | undefined {
  return options.until === 'cleared' && options.for === undefined ? 'cleared' : endOption(options)
}

function endText(end: End | 'cleared', nowMs: number): string {
  return end === 'cleared' ? 'infinity' : endAt(end, nowMs).toISOString()
}

function reasonText(reason: unknown): string | null {
  return keyText('reason', reason, 2_000) ?? null
}

/** Accepts any string that a row can have: also a broken row can be read and deleted. */
function storedText(option: string, value: unknown): string {
  if (typeof value === 'string' && value.length <= 10_000 && !value.includes('\0')) return value
  throw invalidOption(option, 'the name of a limit, or a key', value)
}
