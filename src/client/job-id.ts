import { StintError } from '../core/errors.ts'
import { invalidOption } from '../core/options.ts'
import { isUuid } from '../core/uuid.ts'

export function checkId(id: unknown): asserts id is string {
  if (!isUuid(id)) throw invalidOption('id', 'a job id (a UUID)', id)
}

export function notFound(id: string): StintError {
  return new StintError(
    'job-not-found',
    `There is no job ${id}. It may have been deleted after its retention.`,
    { jobIds: [id] },
  )
}

export function missingJob(id: string): never {
  throw notFound(id)
}
