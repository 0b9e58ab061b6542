import { StintError } from '../../../core/errors.ts'
import { mostRecords } from '../../../flows/steps/steps.ts'
import type { HeldJob } from '../held-job.ts'

export function tooMany({ job }: HeldJob): StintError {
  return new StintError(
    'too-many-steps',
    `Job ${job.id} of '${job.kind}' has ${mostRecords.toLocaleString('en')} records of steps, the most that a job may have. Use ctx.each() for many items, or children.`,
    { jobIds: [job.id] },
  )
}

export function tooLarge({ job }: HeldJob, bytes: number): StintError {
  return new StintError(
    'too-many-steps',
    `The steps of job ${job.id} of '${job.kind}' returned ${bytes.toLocaleString('en')} bytes together; 32 MiB is the most. Return references to what is stored elsewhere.`,
    { jobIds: [job.id] },
  )
}
