import { isDeepStrictEqual } from 'node:util'
import type { JobContract } from '../../contracts/contract.ts'
import type { Caller, RedactedJob } from './caller.ts'
import { toPointer } from '../http/problem.ts'
import { hidePasswords, isSecret, redacted } from './telling.ts'

export interface Redacted {
  value: unknown
  /** Something was replaced. */
  isRedacted: boolean
}

export interface RedactedForCaller extends Redacted {
  /** The host's own redaction changed it: what stands there now cannot be told from data, and not be put back. */
  isByHost: boolean
}

/**
 * A value that a job carries as this caller may see it: an input, a result, the data of a log line. What the contract
 * names, what has a telling name and passwords of URLs are replaced for everybody; the host's `redact` comes after that.
 *
 * In messages of errors and log lines only passwords of URLs are (`hidePasswords`): a handler that puts another secret into
 * one has published it.
 */
export function redactFor(
  caller: Caller,
  { contracts }: { contracts: ReadonlyMap<string, JobContract> },
  job: RedactedJob,
  value: unknown,
): RedactedForCaller {
  const ours = redact(value, contracts.get(job.kind)?.redact ?? [])
  if (caller.redact === undefined) return { ...ours, isByHost: false }
  // By what is in it and taken before: the host may copy what it leaves alone, and change what it was given.
  const before = asJson(ours.value)
  const theirs = caller.redact(ours.value, job)
  const isByHost = !isDeepStrictEqual(asJson(theirs), before)
  return { value: theirs, isRedacted: ours.isRedacted || isByHost, isByHost }
}

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null)) as unknown
}

/** Replaces what the paths name, what has a telling name, and passwords of URLs. The value itself is left as it is. */
export function redact(value: unknown, paths: readonly string[]): Redacted {
  const walk = new Walk(false)
  const copy = walk.copy(value, paths.map(stepsOf))
  return { value: copy, isRedacted: walk.replacedAt !== undefined }
}

/**
 * An edited value with the original's parts where it still says `[redacted]`, so that an editor changes what it saw and
 * keeps what it did not see. `isWhole` is false where it says so at a place whose original is none, or was shown in another
 * way: that would be stored as it stands. `pointer` says where.
 */
export function restoreRedacted(
  edited: unknown,
  original: unknown,
  paths: readonly string[],
): { value: unknown; isWhole: boolean; pointer: string | undefined } {
  const walk = new Walk(true)
  const value = walk.copy(edited, paths.map(stepsOf), original)
  return { value, isWhole: walk.replacedAt === undefined, pointer: walk.replacedAt }
}

type Step = string | typeof each
const each = Symbol('each of a list')

/** `items[].token` → items, each, token */
function stepsOf(path: string): Step[] {
  const steps: Step[] = []
  for (const [step] of path.matchAll(/\[\]|[^.[\]]+/g)) steps.push(step === '[]' ? each : step)
  return steps
}

/** Deeper than anything that was stored through us; below it nothing is shown. */
const maxDepth = 200

class Walk {
  /** The first place that was replaced; of a value that is put back, the first that could not be. */
  replacedAt: string | undefined
  readonly #isRestoring: boolean
  /** The names and places that lead to what is being looked at. */
  readonly #at: (string | number)[] = []

  /** With `isRestoring` it puts back instead of replacing. */
  constructor(isRestoring: boolean) {
    this.#isRestoring = isRestoring
  }

  copy(value: unknown, paths: readonly Step[][], original?: unknown): unknown {
    if (this.#isRestoring ? value === redacted && this.#isHidden(value, paths) : this.#isHidden(value, paths))
      return this.#replace(original)
    if (typeof value === 'string') return this.#text(value, original)
    if (typeof value !== 'object' || value === null) return value
    if (this.#at.length >= maxDepth) return this.#isRestoring ? value : this.#replace(original)
    if (Array.isArray(value)) return this.#list(value, after(paths, each), original)
    // Without a prototype, so that `__proto__` is a name like any other.
    const copy = Object.create(null) as Record<string, unknown>
    for (const [key, item] of Object.entries(value))
      copy[key] = this.#below(key, () => this.copy(item, after(paths, key), memberOf(original, key)))
    return copy
  }

  /**
   * Items of a list may have been moved or removed, so an item is put back whole, where it is just as it was shown:
   * by its place alone, one item would get another one's secret.
   */
  #list(value: readonly unknown[], below: readonly Step[][], original: unknown): unknown[] {
    const copied = (item: unknown, index: number): unknown => this.#below(index, () => this.copy(item, below))
    if (!this.#isRestoring || !Array.isArray(original)) return value.map(copied)
    const shown = original.map((item: unknown) => JSON.stringify(new Walk(false).copy(item, below)))
    const places = new Map(shown.map((text, index) => [text, index]))
    return value.map((item: unknown, index) => {
      const text = JSON.stringify(item)
      const place = shown[index] === text ? index : places.get(text)
      return place === undefined ? copied(item, index) : (original[place] as unknown)
    })
  }

  #below<Result>(step: string | number, work: () => Result): Result {
    this.#at.push(step)
    const result = work()
    this.#at.pop()
    return result
  }

  #isHidden(value: unknown, paths: readonly Step[][]): boolean {
    if (paths.some((rest) => rest.length === 0)) return true
    const name = this.#at.at(-1)
    return typeof name === 'string' && isSecret(name, value)
  }

  #text(value: string, original: unknown): string {
    if (!this.#isRestoring) {
      const shown = hidePasswords(value)
      if (shown !== value) this.#note()
      return shown
    }
    if (!value.includes(redacted) || value === original) return value
    if (typeof original === 'string' && hidePasswords(original) === value) return original
    // Within a longer text it may be prose; in a URL, or alone, it is our mask.
    if (value === redacted || value.includes('://')) this.#note()
    return value
  }

  #replace(original: unknown): unknown {
    if (this.#isRestoring && original !== undefined) return original
    this.#note()
    return redacted
  }

  #note(): void {
    this.replacedAt ??= toPointer(this.#at)
  }
}

function after(paths: readonly Step[][], step: Step): Step[][] {
  return paths.filter(([first]) => first === step).map(([, ...rest]) => rest)
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, unknown>)[name]
}
