import { normalizeMessage } from '../../core/failures/fingerprint.ts'
import { prefixOf } from '../../core/json/utf8.ts'
import type { DatabaseClock } from '../write/clock.ts'

/** A failure, as much of it as a group needs. */
export interface SeenError {
  fingerprint: string
  kind: string
  class: string
  name: string
  message: string
}

/** Totals of one group and hour: a row of stint.error_hour, and what its group has to know. */
export interface ErrorRow extends SeenError {
  title: string
  job: string
  hour: string
  firstAt: string
  lastAt: string
  failures: number
  deaths: number
}

const hourMs = 3_600_000
/** Hours that are kept where they cannot be written; then the last one goes on for as long as that lasts. */
const mostHours = 3
/** Errors of an hour that are told apart; a message that is never the same must not fill the memory or the table. */
const mostGroups = 1_000
const mostCharacters = 500

class Group {
  readonly error: SeenError
  readonly firstAt: number
  lastAt: number
  job: string
  failures = 0
  deaths = 0
  isChanged = true

  constructor(error: SeenError, job: string, at: number) {
    const { fingerprint, kind, class: failureClass, name, message } = error
    // Not the error itself, which has a stack.
    this.error = {
      fingerprint,
      kind,
      class: failureClass,
      name,
      message: prefixOf(message, 4 * mostCharacters),
    }
    this.job = job
    this.firstAt = this.lastAt = at
  }
}

interface Hour {
  startsAt: number
  groups: Map<string, Group>
}

/** Counts failures in memory, by hour and fingerprint, to be written as totals; see tally.ts, which does so for jobs. */
export class ErrorTally {
  readonly #clock: DatabaseClock
  readonly #hours: Hour[] = []

  constructor(clock: DatabaseClock) {
    this.#clock = clock
  }

  add(error: SeenError, { job, isDeath }: { job: string; isDeath: boolean }): void {
    const at = this.#clock.at(performance.now())
    const { groups } = this.#hourAt(at)
    const one = groups.has(error.fingerprint) || groups.size < mostGroups ? error : others(error)
    let group = groups.get(one.fingerprint)
    if (group === undefined) groups.set(one.fingerprint, (group = new Group(one, job, at)))
    group.job = job
    group.lastAt = at
    group.isChanged = true
    if (isDeath) group.deaths++
    else group.failures++
  }

  changes(): { rows: ErrorRow[]; written: (isDone: boolean) => void } {
    this.#hourAt(this.#clock.at(performance.now()))
    const rows: ErrorRow[] = []
    const sent: Group[] = []
    const over = this.#hours.slice(0, -1)
    for (const hour of this.#hours) {
      for (const group of hour.groups.values()) {
        if (!group.isChanged) continue
        group.isChanged = false
        sent.push(group)
        rows.push(rowOf(hour, group))
      }
    }
    return {
      rows,
      written: (isDone) => {
        if (!isDone) for (const group of sent) group.isChanged = true
        else
          for (const hour of over) if (this.#hours[0] === hour && this.#hours.length > 1) this.#hours.shift()
      },
    }
  }

  /** Time does not go back here: an hour that was forgotten would begin at zero again. */
  #hourAt(at: number): Hour {
    const startsAt = Math.floor(at / hourMs) * hourMs
    const last = this.#hours.at(-1)
    if (last !== undefined && (startsAt <= last.startsAt || this.#hours.length >= mostHours)) return last
    const hour = { startsAt, groups: new Map<string, Group>() }
    this.#hours.push(hour)
    return hour
  }
}

/** The group that counts all errors beyond the limit. */
function others({ kind }: SeenError): SeenError {
  return {
    fingerprint: 'others',
    kind,
    class: 'unknown',
    name: 'Others',
    message: `More than ${mostGroups} different errors within an hour`,
  }
}

function rowOf({ startsAt }: Hour, { error, job, firstAt, lastAt, failures, deaths }: Group): ErrorRow {
  return {
    ...error,
    message: prefixOf(error.message, mostCharacters),
    title: normalizeMessage(error.message),
    job,
    hour: new Date(startsAt).toISOString(),
    firstAt: new Date(firstAt).toISOString(),
    lastAt: new Date(lastAt).toISOString(),
    failures,
    deaths,
  }
}
