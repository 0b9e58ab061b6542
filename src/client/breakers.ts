import { StintError } from '../core/errors.ts'
import { nameOption } from '../core/names.ts'
import { integerOption, invalidOption, rejectUnknown } from '../core/options.ts'
import type { Queryable } from '../db/statement.ts'
import {
  forceBreaker,
  getBreaker,
  listBreakers,
  missingBreaker,
  probeBreakerNow,
  resetBreaker,
} from '../limits/breakers/breaker.ts'
import type { BreakerDetails, BreakerInfo } from '../limits/breakers/breaker.ts'
import type { Calls } from './calls.ts'
import { endOption } from './end-option.ts'
import type { EndOptions } from './end-option.ts'
import type { RuleListOptions } from './limits.ts'
import { reasonOption } from './operator/actor.ts'

/** How long a person sets the state of a breaker (`until`, or `for` '1s' to '365d'), and why. */
export interface ForceBreakerOptions extends EndOptions {
  /** Why: shown with the breaker; up to 1,000 characters. */
  reason?: string | undefined
}

export interface BreakersConfig {
  /** The person in whose name it acts. */
  by: string
  /** Called when a state was changed: workers follow at once. */
  onChanged: () => void
}

const longestForcedMs = 365 * 86_400_000

/** The breakers that workers have stored: `stint.breakers`. */
export class Breakers {
  readonly #calls: Calls
  readonly #config: BreakersConfig

  constructor(calls: Calls, config: BreakersConfig) {
    this.#calls = calls
    this.#config = config
  }

  /** Breakers by name; pass the last name as `after` to get the next page. */
  async list(options: RuleListOptions = {}): Promise<BreakerInfo[]> {
    const { after = '', limit = 200, queue, ...rest } = options
    rejectUnknown('breakers.list()', rest, ['after', 'limit', 'queue'])
    if (after !== '') storedName('after', after)
    const request = {
      after,
      limit: integerOption('limit', limit, { min: 1, max: 1_000 }),
      queue: queue === undefined ? undefined : nameOption('queue', queue),
    }
    return this.#calls.send((db) => listBreakers(db, request))
  }

  /** One breaker with its changes of the last 30 days, or undefined if there is none of this name. */
  async get(name: string): Promise<BreakerDetails | undefined> {
    storedName('name', name)
    return this.#calls.send((db) => getBreaker(db, name))
  }

  /** Holds its jobs back until a time, however its downstream is; then it is probed. */
  open(name: string, options: ForceBreakerOptions): Promise<BreakerDetails> {
    return this.#force(name, 'open', options)
  }

  /** Lets its jobs run until a time, however many fail; then it counts again. */
  close(name: string, options: ForceBreakerOptions): Promise<BreakerDetails> {
    return this.#force(name, 'closed', options)
  }

  /** Has an open breaker probed now. Throws `state-changed` if it is not open, or a person has opened it. */
  async probe(name: string): Promise<BreakerDetails> {
    return this.#change(
      name,
      (db) => probeBreakerNow(db, name),
      (found) => {
        if (found.state === 'half-open') return
        const is =
          found.forced === null
            ? `is ${found.state}`
            : `was set to ${found.state} until ${at(found.forced.until)}`
        throw new StintError(
          'state-changed',
          `The breaker '${name}' ${is}: only one that opened by itself can be probed. reset() ends a state that a person has set.`,
          { current: found },
        )
      },
    )
  }

  /** Closes it, ends a state that a person has set, and begins to count anew. */
  async reset(name: string, options: { reason?: string | undefined } = {}): Promise<BreakerDetails> {
    const { reason, ...rest } = options
    rejectUnknown('breakers.reset()', rest, ['reason'])
    const request = { name, by: this.#config.by, reason: reasonOption(reason) }
    return this.#change(name, (db) => resetBreaker(db, request))
  }

  async #force(
    name: string,
    state: 'open' | 'closed',
    options: ForceBreakerOptions,
  ): Promise<BreakerDetails> {
    const { until, for: span, reason, ...rest } = (options as ForceBreakerOptions | undefined) ?? {}
    const call = state === 'open' ? 'open' : 'close'
    rejectUnknown(`breakers.${call}()`, rest, ['until', 'for', 'reason'])
    const end = endOption({ until, for: span }, { minMs: 1_000, maxMs: longestForcedMs })
    if (end === undefined)
      throw invalidOption('for', "given, such as '10m', or `until`: a forced state ends by itself", span)
    const request = {
      name,
      state,
      until: null,
      forMs: null,
      ...end,
      by: this.#config.by,
      reason: reasonOption(reason),
    }
    return this.#change(name, (db) => forceBreaker(db, request))
  }

  async #change(
    name: string,
    change: (db: Queryable) => Promise<boolean>,
    refuse: (found: BreakerDetails) => void = () => undefined,
  ): Promise<BreakerDetails> {
    storedName('name', name)
    const isDone = await this.#calls.write(change, { isDone: Boolean })
    const found = (await this.get(name)) ?? missingBreaker(name)
    if (!isDone) refuse(found)
    this.#config.onChanged()
    return found
  }
}

function at(time: Date): string {
  return JSON.stringify(time).replaceAll('"', '')
}

/** Accepts any string that a row can have as its name. */
function storedName(option: string, value: unknown): void {
  if (typeof value === 'string' && value !== '' && value.length <= 1_000 && !value.includes('\0')) return
  throw invalidOption(option, 'the name of a breaker', value)
}
