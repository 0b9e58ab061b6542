import { isDeepStrictEqual } from 'node:util'
import type { JobContract } from '../contracts/contract.ts'
import type { Caller } from './context.ts'

/** What stands where something is not shown. */
export const redacted = '[redacted]'

export interface Redacted {
  value: unknown
  /** Something was replaced. */
  isRedacted: boolean
}

export interface RedactedForCaller extends Redacted {
  /** The host's own redaction changed it: what stands there now cannot be told from data, and not be put back. */
  isByHost: boolean
}

/** Whose value it is: the host's own redaction may hang on any of it. */
export interface RedactedJob {
  kind: string
  queue: string
  key: string | null
}

/**
 * A value that a job carries as this caller may see it: an input, a result, the data of a log line. What the contract
 * names and what has a telling name is replaced for everybody; the host's `redact` comes after that.
 *
 * Messages of errors are not looked through: a handler that puts a secret into one has published it.
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

/** Replaces what the paths name, and what has a telling name. The value itself is left as it is. */
export function redact(value: unknown, paths: readonly string[]): Redacted {
  const walk = new Walk(undefined)
  const copy = walk.copy(value, undefined, paths.map(stepsOf), 0)
  return { value: copy, isRedacted: walk.hasReplaced }
}

/**
 * An edited value with the original's parts where it still says `[redacted]`, so that an editor changes what it saw
 * and keeps what it did not see. `isWhole` is false where it says so at a place that has no original: that would be
 * stored as it stands.
 */
export function restoreRedacted(
  edited: unknown,
  original: unknown,
  paths: readonly string[],
): { value: unknown; isWhole: boolean } {
  const walk = new Walk({ original })
  const value = walk.copy(edited, undefined, paths.map(stepsOf), 0, original)
  return { value, isWhole: !walk.hasReplaced }
}

/** Compared without case, `-` and `_`; a name that ends in one of the second list is one too: `stripeToken`. */
const tellingNames = new Set([
  ...['pwd', 'pass', 'auth', 'authorization', 'proxyauthorization', 'cookie', 'setcookie', 'cookies'],
  ...['cvv', 'cvc', 'cvv2', 'cardnumber', 'creditcard', 'pan', 'iban', 'ssn', 'pin', 'otp', 'jwt', 'bearer'],
  ...['credential', 'credentials', 'sessionid', 'xapikey', 'signature'],
])
const tellingEndings = [
  ...[
    'password',
    'passwd',
    'passphrase',
    'secret',
    'token',
    'apikey',
    'privatekey',
    'accesskey',
    'secretkey',
  ],
]

export function isTelling(name: string): boolean {
  const plain = name.toLowerCase().replaceAll(/[-_]/g, '')
  return tellingNames.has(plain) || tellingEndings.some((ending) => plain.endsWith(ending))
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
  hasReplaced = false
  readonly #isRestoring: boolean

  /** With an original it puts back instead of replacing. */
  constructor(restoring: { original: unknown } | undefined) {
    this.#isRestoring = restoring !== undefined
  }

  copy(
    value: unknown,
    name: string | undefined,
    paths: readonly Step[][],
    depth: number,
    original?: unknown,
  ): unknown {
    if (this.#isHidden(value, name, paths)) return this.#replace(value, original)
    if (typeof value !== 'object' || value === null) return value
    if (depth >= maxDepth) return this.#replace(value, original)
    if (Array.isArray(value)) return this.#list(value, after(paths, each), depth + 1, original)
    // Without a prototype, so that `__proto__` is a name like any other.
    const copy = Object.create(null) as Record<string, unknown>
    for (const [key, item] of Object.entries(value))
      copy[key] = this.copy(item, key, after(paths, key), depth + 1, memberOf(original, key))
    return copy
  }

  /**
   * Items of a list may have been moved or removed, so an item is put back whole, where it is just as it was shown:
   * by its place alone, one item would get another one's secret.
   */
  #list(value: readonly unknown[], below: readonly Step[][], depth: number, original: unknown): unknown[] {
    if (!this.#isRestoring || !Array.isArray(original))
      return value.map((item) => this.copy(item, undefined, below, depth))
    const shown = original.map((item: unknown) =>
      JSON.stringify(new Walk(undefined).copy(item, undefined, below, depth)),
    )
    const places = new Map(shown.map((text, index) => [text, index]))
    return value.map((item: unknown, index) => {
      const text = JSON.stringify(item)
      const place = shown[index] === text ? index : places.get(text)
      return place === undefined ? this.copy(item, undefined, below, depth) : (original[place] as unknown)
    })
  }

  /** A flag tells no secret: `hasToken: true` may be seen, unless the contract names it. */
  #isHidden(value: unknown, name: string | undefined, paths: readonly Step[][]): boolean {
    if (paths.some((rest) => rest.length === 0)) return true
    return name !== undefined && isTelling(name) && typeof value !== 'boolean' && value !== null
  }

  #replace(value: unknown, original: unknown): unknown {
    if (!this.#isRestoring) {
      this.hasReplaced = true
      return redacted
    }
    if (value !== redacted) return value
    if (original === undefined) this.hasReplaced = true
    return original === undefined ? value : original
  }
}

function after(paths: readonly Step[][], step: Step): Step[][] {
  return paths.filter(([first]) => first === step).map(([, ...rest]) => rest)
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, unknown>)[name]
}
