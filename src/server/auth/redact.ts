import { isDeepStrictEqual } from 'node:util'
import type { JobContract } from '../../contracts/contract.ts'
import type { Caller, RedactedJob } from './caller.ts'
import { toPointer } from '../http/problem.ts'
import { hidePasswords, isSecret, redacted } from './secret-names.ts'

export interface Redacted {
  value: unknown
  /** Something was replaced. */
  isRedacted: boolean
}

export interface RedactedForCaller extends Redacted {
  /** The host's own redaction changed it. Stint cannot tell its mask from data, so it cannot restore the original. */
  isByHost: boolean
}

/**
 * A value of a job as this caller may see it: an input, a result, the data of a log line. For every caller this replaces
 * the paths in `redact` of the contract, values with a secret name, and passwords in URLs. The host's `redact` runs last.
 *
 * In messages of errors and log lines only passwords in URLs are replaced (`hidePasswords`): a handler that puts another
 * secret into a message has published it.
 */
export function redactFor(
  caller: Caller,
  { contracts }: { contracts: ReadonlyMap<string, JobContract> },
  job: RedactedJob,
  value: unknown,
): RedactedForCaller {
  const ours = redact(value, contracts.get(job.kind)?.redact ?? [])
  if (caller.redact === undefined) return { ...ours, isByHost: false }
  // Compare contents, with a copy made before the call: the host may return a copy, or change the value in place.
  const before = asJson(ours.value)
  const theirs = caller.redact(ours.value, job)
  const isByHost = !isDeepStrictEqual(asJson(theirs), before)
  return { value: theirs, isRedacted: ours.isRedacted || isByHost, isByHost }
}

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null)) as unknown
}

/** Returns a copy with the values at the paths, values with a secret name, and passwords in URLs replaced. */
export function redact(value: unknown, paths: readonly string[]): Redacted {
  const walk = new Walk(false)
  const copy = walk.copy(value, paths.map(stepsOf))
  return { value: copy, isRedacted: walk.replacedAt !== undefined }
}

/**
 * Returns the edited value with the original wherever it still contains `[redacted]`: an editor changes what it saw and
 * keeps what it did not see. `isWhole` is false if a `[redacted]` has no original, or its original was shown differently:
 * the mask would be stored as data. `pointer` is the place of the first one.
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
const each = Symbol('each item of a list')

/** `items[].token` → items, each, token */
function stepsOf(path: string): Step[] {
  const steps: Step[] = []
  for (const [step] of path.matchAll(/\[\]|[^.[\]]+/g)) steps.push(step === '[]' ? each : step)
  return steps
}

/** Deeper than any value that Stint stores; what is nested deeper is replaced. */
const maxDepth = 200

class Walk {
  /** JSON pointer of the first value that was replaced; when restoring, of the first that could not be restored. */
  replacedAt: string | undefined
  readonly #isRestoring: boolean
  /** The path of the current value. */
  readonly #at: (string | number)[] = []

  /** With `isRestoring` it restores originals instead of replacing values. */
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
   * The editor may have moved or removed items, so an item is restored only as a whole, and only if it equals an item as
   * shown. If items were matched by their index, one item could get the secret of another.
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
    // `[redacted]` inside a longer text may be prose; alone or in a URL it is our mask.
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
