import { durationMs } from '../duration.ts'
import { StintError } from '../errors.ts'
import { jobStates } from '../job.ts'
import type { JobState } from '../job.ts'
import { nearest } from '../options.ts'
import { priorityRange } from '../priority.ts'
import { isUuid } from '../uuid.ts'

/**
 * Which jobs are meant, in words: `state:dead queue:billing kind:charge.* error:b02c age>1h`. One grammar for the API,
 * the command line and the dashboard.
 *
 * Tokens are separated by spaces and all of them must match; the values of one token are separated by commas, and one
 * of them must match. A value with spaces, commas or quotes is quoted: `key:"a, b"`. A token that is not known, or is
 * given twice, is an error: a typo must never make a filter wider. So is an unquoted star where it is no wildcard.
 */
export interface Where {
  readonly ids?: readonly string[] | undefined
  /** The last 4 to 12 characters of ids, as screens show them. They select jobs in addition to `ids`. */
  readonly idEnds?: readonly string[] | undefined
  readonly states?: readonly JobState[] | undefined
  readonly queues?: readonly string[] | undefined
  /** Names, or the beginning of names: `charge.*`. */
  readonly kinds?: readonly string[] | undefined
  readonly keys?: readonly string[] | undefined
  /** Fingerprints, or the beginning of some: 4 characters at least. */
  readonly errors?: readonly string[] | undefined
  readonly workers?: readonly string[] | undefined
  readonly correlations?: readonly string[] | undefined
  /** Why they died or were cancelled. */
  readonly reasons?: readonly string[] | undefined
  readonly priorities?: readonly number[] | undefined
  /** Made longer ago than this. */
  readonly olderMs?: number | undefined
  /** Made more recently than this. */
  readonly youngerMs?: number | undefined
  /** Search words by name, as the contract made them of the input. */
  readonly search?: Readonly<Record<string, readonly string[]>> | undefined
  /** The jobs of flows. */
  readonly flows?: readonly string[] | undefined
  /** What waiting jobs wait for. */
  readonly waiting?: readonly Awaited[] | undefined
  readonly isDiscarded?: true | undefined
  readonly isReplaced?: true | undefined
}

/** What a waiting job may wait for; `flow`: earlier jobs of its flow, `parked`: code that fits its recorded steps. */
export const awaited = ['signal', 'time', 'job', 'children', 'flow', 'parked'] as const
export type Awaited = (typeof awaited)[number]

/** What is wrong with a filter, and where; `message` is a whole sentence. */
export interface WhereProblem {
  /** The token as it was written. */
  token: string
  /** Where it begins; the first character is 0. */
  position: number
  message: string
}

/** Parses a filter; throws `invalid-option` with the token and its position. */
export function parseWhere(text: string): Where {
  const read = readWhere(text)
  if ('where' in read) return read.where
  const { position, message } = read.problem
  throw new StintError('invalid-option', message, {
    issues: [{ path: 'where', message: `${message} (at character ${position + 1})` }],
  })
}

/** The same for a caller that shows the problem itself. */
export function readWhere(text: string): { where: Where } | { problem: WhereProblem } {
  const draft: Draft = {}
  const seen = new Set<string>()
  const source = new Source(text)
  try {
    for (let token = source.next(); token !== undefined; token = source.next()) {
      if (seen.has(token.name))
        throw new Refused(
          token,
          `Filter ${quote(token.name)} is given twice. Separate several values with commas.`,
        )
      seen.add(token.name)
      take(draft, token)
    }
    const { words, ...where } = draft
    // Not by spreading one object after another: that is quadratic, and a name may be __proto__.
    return { where: words === undefined ? where : { ...where, search: Object.fromEntries(words) } }
  } catch (error) {
    if (error instanceof Refused) return { problem: error.problem }
    throw error
  }
}

type Draft = { -readonly [Name in keyof Omit<Where, 'search'>]: Where[Name] } & {
  /** Search words by name. */
  words?: Map<string, readonly string[]>
}

interface Token {
  /** `state`, `age>`, `input.country` */
  name: string
  values: string[]
  /** Those of the values that were written in quotes. */
  quoted: ReadonlySet<string>
  text: string
  position: number
}

class Refused extends Error {
  readonly problem: WhereProblem

  constructor({ text, position }: { text: string; position: number }, message: string) {
    super(message)
    this.problem = { token: text, position, message }
  }
}

const names = [
  ...['id', 'state', 'queue', 'kind', 'key', 'error', 'worker', 'correlation', 'reason', 'priority'],
  ...['flow', 'waiting', 'age', 'is', 'input.'],
]
const mostValues = 100

function take(draft: Draft, token: Token): void {
  const { name } = token
  switch (name) {
    case 'id': {
      const given = each(token, isIdOrEnd, 'a job id, or its last 4 to 12 characters')
      const all = given.map((id) => id.toLowerCase().replace('…', ''))
      const [ids, ends] = [all.filter(isUuid), all.filter((id) => !isUuid(id))]
      if (ids.length > 0) draft.ids = [...new Set(ids)]
      if (ends.length > 0) draft.idEnds = [...new Set(ends)]
      return
    }
    case 'state':
      draft.states = each(token, isState, `a state: ${jobStates.join(', ')}`, jobStates)
      return
    case 'queue':
      draft.queues = each(token, isName, 'the name of a queue')
      return
    case 'kind':
      draft.kinds = each(token, isKind, 'a kind, or its beginning and a star: charge.*')
      return
    case 'key':
      draft.keys = texts(token, 'a key')
      return
    case 'error':
      draft.errors = each(token, isFingerprint, 'the first 4 or more characters of an error group')
      return
    case 'worker':
      draft.workers = each(token, isUuid, 'a whole worker id').map((id) => id.toLowerCase())
      return
    case 'correlation':
      draft.correlations = texts(token, 'a correlation id')
      return
    case 'reason':
      draft.reasons = texts(token, 'a reason')
      return
    case 'priority':
      draft.priorities = [...new Set(each(token, isPriority, 'a priority: -100 to 100').map(Number))]
      return
    case 'flow':
      draft.flows = each(token, isUuid, 'a whole flow id').map((id) => id.toLowerCase())
      return
    case 'waiting':
      draft.waiting = each(token, isAwaited, `what a job waits for: ${awaited.join(', ')}`, awaited)
      return
    case 'age>':
      draft.olderMs = durationIn(token)
      return
    case 'age<':
      draft.youngerMs = durationIn(token)
      return
    case 'is':
      for (const value of each(token, isFlag, 'discarded or replaced', ['discarded', 'replaced'])) {
        if (value === 'discarded') draft.isDiscarded = true
        else draft.isReplaced = true
      }
      return
    default:
      if (!name.startsWith('input.') || name.length === 'input.'.length) throw unknown(token)
      draft.words ??= new Map()
      draft.words.set(name.slice('input.'.length), texts(token, 'a value'))
  }
}

function each<Value extends string>(
  token: Token,
  test: (value: string) => value is Value,
  expected: string,
  choices: readonly string[] = [],
): Value[] {
  const { values } = token
  if (values.length > mostValues)
    throw new Refused(
      token,
      `Filter ${quote(token.name)} accepts at most ${mostValues} values, got ${values.length}.`,
    )
  const checked = values.map((value) => {
    if (test(value)) return value
    const near = nearest(value, choices)
    const hint = near === undefined ? '' : ` Did you mean "${near}"?`
    throw new Refused(token, `${refusal(token, value)} Expected ${expected}.${hint}`)
  })
  return [...new Set(checked)]
}

/** Whole texts: a text with a star was meant as a prefix, for which these have no index. */
function texts(token: Token, expected: string): string[] {
  const { name, values, quoted } = token
  const starred = values.find((value) => value.includes('*') && !quoted.has(value))
  if (starred === undefined) return each(token, isText, expected)
  const literal = `${name}:"${shorten(starred)}"`
  throw new Refused(
    token,
    `Filter ${quote(name)} does not accept a star. Quote the value if the star is part of it: ${literal}.`,
  )
}

function durationIn(token: Token): number {
  const [value = '', ...more] = token.values
  const ms = more.length > 0 ? undefined : durationMs(value)
  if (ms === undefined || ms > longestAgeMs)
    throw new Refused(token, `${refusal(token, value)} Expected a duration such as 30s, 5m, 2h or 7d.`)
  return ms
}

/** Ten years, so that no age reaches back beyond the times that the database can hold. */
const longestAgeMs = 10 * 365.25 * 86_400_000

function unknown(token: Token): Refused {
  return new Refused(token, `Unknown filter ${quote(token.name)}. ${suggestionFor(token.name)}`)
}

/** The known filter that was probably meant, or all of them. */
function suggestionFor(name: string): string {
  const typed = name.replace(/[<>]$/, '').toLowerCase()
  const near =
    nearest(typed.split('.')[0] ?? '', names) ?? names.find((each) => typed !== '' && each.startsWith(typed))
  if (near === undefined) return `Known filters: ${names.map(shown).join(' ')}`
  return `Did you mean ${near === 'input.' ? '"input.<name>:"' : `"${shown(near)}"`}?`
}

/** A word without a sign: a state or an id, or a filter that was not finished. */
function notAFilter(word: string): string {
  const state = nearest(word, jobStates)
  const meant =
    isUuid(word) || (state === undefined && isIdOrEnd(word)) ? `id:${word}` : state && `state:${state}`
  const hint = meant === undefined ? 'Write name:value, such as state:dead.' : `Did you mean "${meant}"?`
  return `"${shorten(word)}" is not a filter. ${hint}`
}

function refusal({ name }: Token, value: string): string {
  return `Filter ${quote(name)} does not accept "${shorten(value)}".`
}

/** A filter's name with the sign that follows it: `"state:"`, `"age>"`. */
function quote(name: string): string {
  return `"${shorten(name)}${/[<>]$/.test(name) ? '' : ':'}"`
}

function shown(name: string): string {
  if (name === 'age') return 'age>'
  return name === 'input.' ? name : `${name}:`
}

function isState(value: string): value is JobState {
  return (jobStates as readonly string[]).includes(value)
}

function isIdOrEnd(value: string): value is string {
  return isUuid(value) || /^…?[\da-f]{4,12}$/i.test(value)
}

function isName(value: string): value is string {
  return /^[A-Za-z0-9_][A-Za-z0-9_.:/%-]{0,127}$/.test(value)
}

function isKind(value: string): value is string {
  return value !== '*' && isName(value.endsWith('*') ? value.slice(0, -1) : value)
}

function isFingerprint(value: string): value is string {
  return /^[\da-f]{4,64}$/.test(value)
}

function isPriority(value: string): value is string {
  return /^-?\d{1,3}$/.test(value) && Math.abs(Number(value)) <= priorityRange.max
}

function isAwaited(value: string): value is Awaited {
  return (awaited as readonly string[]).includes(value)
}

function isFlag(value: string): value is 'discarded' | 'replaced' {
  return value === 'discarded' || value === 'replaced'
}

/** Text that the database can hold and an index entry has room for. */
function isText(value: string): value is string {
  return value !== '' && value.length <= 1_024 && !value.includes('\0')
}

/** Takes a text apart, a token at a time. */
class Source {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  next(): Token | undefined {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++
    if (this.#at >= this.#text.length) return undefined
    const position = this.#at
    const name = this.#name(position)
    const values: string[] = []
    const quoted = new Set<string>()
    do {
      if (values.length > 0) this.#at++
      const isQuoted = this.#text[this.#at] === '"'
      const value = this.#value(position)
      values.push(value)
      if (isQuoted) quoted.add(value)
    } while (this.#text[this.#at] === ',')
    const text = this.#text.slice(position, this.#at)
    const token = { name, values, quoted, text, position }
    if (!/^\s?$/.test(this.#text[this.#at] ?? ''))
      throw new Refused(token, `A space is missing after the quoted value of filter ${quote(name)}.`)
    if (values.includes('')) throw new Refused(token, `Filter ${quote(name)} has an empty value.`)
    return token
  }

  /** The name up to the sign after it; a sign other than a colon is part of it. */
  #name(position: number): string {
    const [word = ''] = /^[^\s"]*/.exec(this.#text.slice(position)) ?? []
    const end = word.search(/[:<>]/)
    if (end === -1) {
      const rest = /^\S+/.exec(this.#text.slice(position))?.[0] ?? word
      throw new Refused({ text: rest, position }, notAFilter(rest))
    }
    const sign = word[end] ?? ':'
    this.#at = position + end + 1
    const name = word.slice(0, end)
    const isAge = name === 'age'
    const known = names.includes(name) || name.startsWith('input.')
    const token = { name, values: [], quoted: new Set<string>(), text: word, position }
    if (!known) throw unknown(token)
    if (isAge === (sign === ':'))
      throw new Refused(
        token,
        isAge
          ? 'Filter "age" needs > or <, such as age>1h or age<2d.'
          : `Filter "${name}" needs a colon: ${quote(name)}.`,
      )
    return isAge ? `${name}${sign}` : name
  }

  #value(position: number): string {
    if (this.#text[this.#at] === '"') return this.#quoted(position)
    const [value = ''] = /^[^\s,"]*/.exec(this.#text.slice(this.#at)) ?? []
    this.#at += value.length
    return value
  }

  #quoted(position: number): string {
    const [whole, inner = ''] = /^"((?:[^"\\]|\\.)*)"/s.exec(this.#text.slice(this.#at)) ?? []
    if (whole === undefined)
      throw new Refused(
        { text: this.#text.slice(position), position },
        `A quote is not closed in ${shorten(this.#text.slice(position))}`,
      )
    this.#at += whole.length
    return inner.replace(/\\(.)/gs, '$1')
  }
}

function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`
}
