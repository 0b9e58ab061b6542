import { integerOption, invalidOption, rejectUnknown } from '../../core/options.ts'
import type { LogsRequest } from '../../jobs/attempt/logs.ts'

export interface LogsOptions {
  /** Only lines of this attempt, by its epoch. @default all */
  epoch?: number | undefined
  /** Only lines after this one, for example the last line of an earlier call. @default from the first */
  after?: { epoch: number; line: number } | undefined
  /** The last lines instead of the first. @default false */
  last?: boolean | undefined
  /** The maximum number of lines, 1 to 1,000. @default 200 */
  limit?: number | undefined
}

const largest = 2_147_483_647

export function resolveLogsOptions(
  id: string,
  { epoch, after, last = false, limit = 200, ...rest }: LogsOptions = {},
): { request: LogsRequest; isLast: boolean } {
  rejectUnknown('logs', rest, ['epoch', 'after', 'last', 'limit'])
  const range = { min: 0, max: largest }
  if (epoch !== undefined) integerOption('epoch', epoch, range)
  if (after !== undefined) {
    integerOption('after.epoch', after.epoch, range)
    integerOption('after.line', after.line, range)
  }
  if (typeof (last as unknown) !== 'boolean') throw invalidOption('last', 'true or false', last)
  // A line of an earlier attempt comes before all lines of this attempt.
  const isWithin = after !== undefined && (epoch === undefined || after.epoch >= epoch)
  const start = isWithin ? after : { epoch: epoch ?? -1, line: -1 }
  return {
    request: {
      id,
      afterEpoch: start.epoch,
      afterLine: start.line,
      lastEpoch: epoch ?? largest,
      limit: integerOption('limit', limit, { min: 1, max: 1_000 }),
    },
    isLast: last,
  }
}
