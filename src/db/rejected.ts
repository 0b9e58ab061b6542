import { StintError } from '../core/errors.ts'
import { messageOf } from '../core/failures/thrown.ts'
import { classify, constraintOf, isSchemaMissing } from './classify.ts'

/** The server rejected the call, and would reject it again. */
export function rejected(cause: unknown, schema: string, jobIds: readonly string[] = []): StintError {
  const message = messageOf(cause)
  if (isSchemaMissing(cause)) {
    return new StintError(
      'schema-missing',
      `The schema '${schema}' is missing or incomplete (${message}): run \`stint migrate\` or \`await stint.migrate()\`.`,
      { cause, jobIds },
    )
  }
  switch (classify(cause)) {
    case 'value':
      return new StintError(
        'invalid-input',
        `The database cannot store this value: ${message}. It was not stored.`,
        {
          cause,
          jobIds,
          issues: [{ path: constraintOf(cause) ?? 'input', message: 'cannot be stored by the database' }],
        },
      )
    case 'duplicate':
      return new StintError('duplicate-job', 'Another job already holds the unique key of this job.', {
        cause,
        jobIds,
      })
    case 'again':
    case 'unknown':
    case 'wait':
    case 'partition':
    case 'broken':
    case 'corrupt':
      return new StintError('database-rejected', `The database rejected the call: ${message}.`, {
        cause,
        jobIds,
      })
  }
}
