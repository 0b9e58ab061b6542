import type { Duration } from '../../core/duration.ts'
import { StintError } from '../../core/errors.ts'
import { boundedText } from '../../core/names.ts'
import {
  booleanOption,
  durationOption,
  integerOption,
  invalidOption,
  oneOfOption,
  rejectUnknown,
} from '../../core/options.ts'
import {
  findErrors,
  getError,
  ignoreError,
  listErrors,
  reopenError,
  resolveError,
} from '../../stats/errors/error-groups.ts'
import { errorStatuses } from '../../core/failures/error-status.ts'
import type { ErrorGroup, ErrorGroupSummary } from '../../stats/errors/error-groups.ts'
import type { ErrorStatus } from '../../core/failures/error-status.ts'
import type { Calls } from '../calls.ts'
import { textOption } from '../jobs/list-options.ts'

export interface ListErrorsOptions {
  /** @default all of them */
  status?: ErrorStatus | undefined
  kind?: string | undefined
  /** Only errors that made jobs dead within the last 30 days. @default false */
  deadly?: boolean | undefined
  /** 1 to 200. @default 50 */
  limit?: number | undefined
}

/** Groups of errors with the same cause, and their status: open, resolved or ignored. */
export class ErrorGroups {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** Error groups, the last seen first, each with the counts of its last 24 hours. */
  async list(options: ListErrorsOptions = {}): Promise<ErrorGroupSummary[]> {
    const { status, kind, deadly = false, limit = 50, ...rest } = options
    rejectUnknown('errors.list', rest, ['status', 'kind', 'deadly', 'limit'])
    const request = {
      status: status === undefined ? null : oneOfOption('status', status, errorStatuses),
      kind: textOption('kind', kind),
      isDeadly: booleanOption('deadly', deadly),
      limit: integerOption('limit', limit, { min: 1, max: 200 }),
    }
    return this.#calls.send((db) => listErrors(db, request))
  }

  /** One error group, with its last message and the counts of every hour that is kept. */
  async get(fingerprint: string): Promise<ErrorGroup | undefined> {
    checkFingerprint(fingerprint)
    return this.#calls.send((db) => getError(db, fingerprint))
  }

  /** @internal The whole fingerprint of the only group whose fingerprint begins with these characters, at least 4. */
  async find(beginning: string): Promise<string> {
    checkFingerprint(beginning)
    const found = beginning.length < 4 ? [] : await this.#calls.send((db) => findErrors(db, beginning))
    const [first = missingGroup(beginning)] = found
    if (found.length === 1 || first === beginning) return first
    throw invalidOption('fingerprint', `unique: it matches ${found.join(', ')}`, beginning)
  }

  /**
   * Marks the error as fixed: in a version of your app, or as of now. If it occurs again in that version or a newer one, it
   * is open again, and `regressedAt` says since when.
   */
  async resolve(
    fingerprint: string,
    { version, ...rest }: { version?: string | undefined } = {},
  ): Promise<ErrorGroup> {
    checkFingerprint(fingerprint)
    rejectUnknown('errors.resolve', rest, ['version'])
    const request = {
      fingerprint,
      version: version === undefined ? null : versionOption(version),
    }
    return this.#changed(
      fingerprint,
      await this.#calls.write((db) => resolveError(db, request), { isDone: Boolean }),
    )
  }

  /** Mutes the error: for a duration, until a time, or for ever. */
  async ignore(
    fingerprint: string,
    options: { until?: Date | undefined; for?: Duration | undefined } = {},
  ): Promise<ErrorGroup> {
    checkFingerprint(fingerprint)
    const { until, for: duration, ...rest } = options
    rejectUnknown('errors.ignore', rest, ['until', 'for'])
    if (until !== undefined && duration !== undefined)
      throw invalidOption('for', 'left out if `until` is given', duration)
    if (until !== undefined && !(until instanceof Date && Number.isFinite(until.getTime())))
      throw invalidOption('until', 'a Date', until)
    const afterMs = duration === undefined ? undefined : durationOption('for', duration)
    const request = {
      fingerprint,
      until: afterMs === undefined ? (until ?? null) : new Date(Date.now() + afterMs),
    }
    return this.#changed(
      fingerprint,
      await this.#calls.write((db) => ignoreError(db, request), { isDone: Boolean }),
    )
  }

  /** Makes a resolved or ignored error open again. */
  async reopen(fingerprint: string): Promise<ErrorGroup> {
    checkFingerprint(fingerprint)
    return this.#changed(
      fingerprint,
      await this.#calls.write((db) => reopenError(db, fingerprint), { isDone: Boolean }),
    )
  }

  async #changed(fingerprint: string, isDone: boolean): Promise<ErrorGroup> {
    const group = isDone ? await this.get(fingerprint) : undefined
    return group ?? missingGroup(fingerprint)
  }
}

export function missingGroup(fingerprint: string): never {
  throw new StintError('error-group-not-found', `There is no error group '${fingerprint}'.`)
}

function versionOption(version: unknown): string {
  if (boundedText(version, 200)) return version
  throw invalidOption('version', 'a string of 1 to 200 bytes', version)
}

function checkFingerprint(value: unknown): void {
  if (typeof value !== 'string' || value === '' || value.length > 64 || value.includes('\0'))
    throw invalidOption('fingerprint', 'the fingerprint of an error', value)
}
