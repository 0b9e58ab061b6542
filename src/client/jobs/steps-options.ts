import { integerOption, rejectUnknown } from '../../core/options.ts'
import type { JobStepsRequest } from '../../flows/steps/job-steps.ts'

export interface StepsOptions {
  /** Only the last steps, 1 to 10,000. @default 10_000 */
  limit?: number | undefined
  /** Leave results out once they are larger together, as Postgres stores them. @default 64 MiB, more than a job may have */
  maxResultBytes?: number | undefined
}

export function resolveStepsOptions(
  id: string,
  { limit = 10_000, maxResultBytes = 64 * 1024 * 1024, ...rest }: StepsOptions = {},
): JobStepsRequest {
  rejectUnknown('steps', rest, ['limit', 'maxResultBytes'])
  return {
    id,
    limit: integerOption('limit', limit, { min: 1, max: 10_000 }),
    maxBytes: integerOption('maxResultBytes', maxResultBytes, { min: 0 }),
  }
}
