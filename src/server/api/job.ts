import { z } from '@hono/zod-openapi'
import { DurationText, Fingerprint, Id, Name, pageOf, Priority, Reason, State, Time } from './common.ts'

/** A job in a list. */
export const JobItem = z
  .object({
    id: Id,
    state: State,
    queue: z.string(),
    kind: z.string(),
    key: z.string().nullable(),
    priority: z.int(),
    attempt: z.int(),
    maxAttempts: z.int(),
    crashes: z.int(),
    epoch: z.int(),
    version: z.int(),
    createdAt: Time.nullable(),
    runAt: Time.nullable(),
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
    deadlineAt: Time.nullable(),
    workerId: Id.nullable(),
    correlationId: z.string(),
    parentId: Id.nullable(),
    search: z.record(z.string(), z.string()),
    reason: z.string().nullable().describe('Why the job was cancelled or died.'),
    error: z
      .object({
        name: z.string().nullable(),
        message: z.string().nullable(),
        group: z.string().nullable().describe('The error group.'),
      })
      .nullable()
      .describe('The last error, shortened; only for dead letters.'),
    replaces: Id.nullable(),
    replacedBy: Id.nullable(),
    discardedAt: Time.nullable(),
    cancelRequestedAt: Time.nullable(),
    broken: z
      .array(z.string())
      .describe('Invalid values in the row of the job, such as `runAt: infinity`; usually empty.'),
  })
  .openapi('JobItem')
export type JobItem = z.infer<typeof JobItem>

export const JobPage = pageOf(JobItem)
  .extend({
    looked: z
      .object({ rows: z.int(), complete: z.boolean() })
      .describe(
        'How many rows a filter without an index has read. `complete` is false if the search stopped early; continue with `next`.',
      ),
  })
  .openapi('JobPage')
export type JobPage = z.infer<typeof JobPage>

export const StoredError = z
  .object({
    name: z.string().nullable(),
    message: z.string().nullable(),
    class: z.string().nullable(),
    stack: z.string().nullable(),
    causes: z.array(z.object({ name: z.string().nullable(), message: z.string().nullable() })),
    group: z.string().nullable(),
  })
  .openapi('StoredError')
export type StoredError = z.infer<typeof StoredError>

export const JobAttempt = z
  .object({
    epoch: z.int(),
    attempt: z.int(),
    outcome: z.string().openapi({ example: 'failed' }),
    workerId: Id.nullable(),
    startedAt: Time.nullable(),
    endedAt: Time.nullable().describe('Null while the attempt runs.'),
    error: StoredError.nullable(),
    reason: z.string().nullable(),
  })
  .openapi('JobAttempt')
export type JobAttempt = z.infer<typeof JobAttempt>

/** A job with all its fields. */
export const JobDetail = JobItem.extend({
  input: z.unknown().describe('Null if the input is hidden; `inputHidden` then says why.'),
  inputHidden: z.enum(['role', 'size', 'blob']).nullable(),
  redacted: z.boolean().describe('Parts of the input, result or error were replaced.'),
  result: z.unknown(),
  storedError: StoredError.nullable(),
  progress: z.object({ percent: z.number(), note: z.string().nullable(), at: Time }).nullable(),
  isSuspect: z.boolean(),
  attemptsBefore: z.int(),
  traceparent: z.string().nullable(),
  flowId: Id.nullable(),
  contract: z
    .object({ known: z.boolean(), version: z.int().nullable() })
    .describe('Whether the console has the contract of this kind, and its version.'),
  can: z
    .array(z.object({ verb: z.string(), cli: z.string() }))
    .describe(
      'The actions that this caller may do in the current state of the job, each with its CLI command.',
    ),
  links: z.object({ self: z.string(), result: z.string(), logs: z.string() }),
  asOf: Time,
}).openapi('JobDetail')
export type JobDetail = z.infer<typeof JobDetail>

export const JobLog = z
  .object({
    epoch: z.int(),
    line: z.int(),
    at: Time,
    level: z.string(),
    message: z.string(),
    data: z.unknown(),
  })
  .openapi('JobLog')
export type JobLog = z.infer<typeof JobLog>

export const Lineage = z
  .object({
    parent: JobItem.nullable(),
    children: z.array(JobItem).describe('Up to 200, newest first.'),
    replaces: JobItem.nullable(),
    replacedBy: JobItem.nullable(),
    correlated: z.array(JobItem).describe('Up to 200 other jobs with the same correlation id.'),
    asOf: Time,
  })
  .openapi('Lineage')
export type Lineage = z.infer<typeof Lineage>

/** A job as a producer sends it. */
export const NewJob = z
  .strictObject({
    kind: Name,
    queue: Name.optional().describe(
      'By default the queue of the contract; required if the console has no contract for this kind.',
    ),
    input: z.unknown().optional(),
    runAt: Time.optional(),
    delay: DurationText.optional(),
    priority: Priority.optional(),
    key: z.string().min(1).max(200).optional(),
    deadline: Time.optional(),
    attempts: z.int().min(1).max(1_000).optional(),
    idempotencyKey: z.string().min(1).max(200).optional(),
    correlationId: z.string().min(1).max(200).optional(),
  })
  .openapi('NewJob')
export type NewJob = z.infer<typeof NewJob>

/** One job of a batch. */
export const AcceptedItem = z
  .object({
    id: Id,
    state: State,
    duplicate: z.boolean(),
    links: z.object({ self: z.string(), result: z.string(), logs: z.string() }),
  })
  .openapi('AcceptedItem')
export type AcceptedItem = z.infer<typeof AcceptedItem>

export const AcceptedJob = AcceptedItem.extend({
  result: z.unknown().optional().describe('With `Prefer: wait`: the result, if the job ended in time.'),
  asOf: Time,
}).openapi('AcceptedJob')
export type AcceptedJob = z.infer<typeof AcceptedJob>

export const NewJobs = z.strictObject({ jobs: z.array(NewJob).min(1).max(1_000) }).openapi('NewJobs')
export const AcceptedJobs = z
  .object({ jobs: z.array(AcceptedItem), stored: z.int(), duplicates: z.int(), asOf: Time })
  .openapi('AcceptedJobs')
export type AcceptedJobs = z.infer<typeof AcceptedJobs>

/** The state that the caller saw. The request is refused if the job has changed since. */
export const Expect = z.strictObject({ state: State, epoch: z.int().optional() })

export const Act = z.strictObject({ expect: Expect.optional(), reason: Reason.optional() }).openapi('Act')
export const RescheduleBody = Act.extend({ runAt: Time.optional(), delay: DurationText.optional() })
export const ReprioritizeBody = Act.extend({ priority: Priority })
export const ResumeBody = Act.extend({
  accept: z
    .boolean()
    .optional()
    .describe('Go on with the new code: recorded steps that it does not ask for are ignored.'),
})
export const EditBody = z.strictObject({ input: z.unknown(), reason: Reason, expect: Expect.optional() })

export const JobFilter = z.object({
  where: z
    .string()
    .max(2_000)
    .optional()
    .describe(
      'Terms: state queue kind key error worker correlation age reason flow waiting input.<name> is:discarded.',
    )
    .openapi({ example: 'state:dead queue:billing error:b02c age>1h' }),
  cursor: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(200).optional(),
})
export { Fingerprint }
