import { z } from '@hono/zod-openapi'
import { jobFates, jobOutcomes, operationActions, operationStates } from '../../core/operation.ts'
import type * as core from '../../core/operation.ts'
import type { Wire } from '../http/wire.ts'
import { Id, pageOf, Priority, Reason, Time } from './common.ts'
import { JobItem } from './job.ts'

/** The jobs are given by a filter or by ids. `reason` is required unless it is a dry run. */
export const NewOperation = z
  .strictObject({
    action: z.enum(operationActions),
    where: z.string().min(1).max(2_000).optional(),
    ids: z.array(Id).min(1).max(1_000).optional(),
    priority: Priority.optional().describe('For reprioritize.'),
    canary: z
      .int()
      .min(0)
      .max(1_000)
      .optional()
      .describe(
        'Jobs that a replay tries first. @default 1 of up to 10 jobs, a tenth of up to 100, else 10; 1 if one of them crashed its worker; 0 for a single job',
      ),
    pace: z
      .number()
      .min(0.1)
      .max(10_000)
      .nullable()
      .optional()
      .describe(
        'Jobs a second after the canary; null: as fast as possible. @default 20 for a replay of more than 100, otherwise null',
      ),
    stopIf: z
      .strictObject({
        sameError: z.number().min(0).max(100).optional(),
        anyFailure: z.number().min(0).max(100).optional(),
      })
      .optional()
      .describe(
        'Stops above this percentage of the canary, and then of all jobs that have ended. @default sameError 20',
      ),
    max: z
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe('Does nothing if more jobs than this match. @default 10,000'),
    asOf: Time.optional().describe(
      'The `asOf` of the preview that the caller saw: jobs that were made, or died, later are not taken. @default now',
    ),
    reason: Reason.optional().describe('Required unless it is a dry run.'),
    dryRun: z.boolean().optional(),
  })
  .openapi('NewOperation') satisfies z.ZodType<Wire<core.NewOperation>>
export type NewOperation = z.infer<typeof NewOperation>

export const Preview = z
  .object({
    action: z.enum(operationActions),
    matched: z
      .object({ count: z.int(), exact: z.boolean() })
      .describe('Counted up to 10,000, or for a second.'),
    samples: z.array(JobItem).describe('Five of the matching jobs.'),
    excluded: z.array(z.object({ reason: z.string(), count: z.int() })),
    canary: z.int(),
    pace: z.number().nullable(),
    stopIf: z.object({ sameError: z.number().nullable(), anyFailure: z.number().nullable() }),
    crashed: z.int().describe('How many of the jobs to replay crashed their worker.'),
    asOf: Time,
    cli: z.string(),
  })
  .openapi('Preview')
export type Preview = z.infer<typeof Preview>

/** The operation of the library, without the fields that HTTP does not show. */
type Shown = Wire<Omit<core.Operation, 'priority' | 'jobId' | 'untouched' | 'role' | 'origin'>>

export const Operation = z
  .object({
    id: Id,
    action: z.enum(operationActions),
    state: z.enum(operationStates),
    where: z.string().nullable(),
    ids: z.int().describe('How many ids it was given; 0 for a filter.'),
    frozenAt: Time.describe(
      'Jobs that match only later are not taken: the `asOf` of its preview, or the time of its start.',
    ),
    canary: z.int(),
    pace: z.number().nullable(),
    stopIf: z.object({ sameError: z.number().nullable(), anyFailure: z.number().nullable() }),
    max: z.int(),
    crashed: z.int().describe('How many of the jobs to replay crashed their worker.'),
    matched: z.int().nullable().describe('Null until all matching jobs are found.'),
    acted: z.int(),
    skipped: z.int(),
    failed: z.int(),
    skippedBy: z.record(z.string(), z.int()),
    canaryResult: z
      .object({ decided: z.int(), succeeded: z.int(), failed: z.int(), sameError: z.int() })
      .nullable(),
    fates: z
      .object({
        live: z.int().describe('Jobs that have not ended, or had not when the operation ended.'),
        succeeded: z.int(),
        sameError: z.int().describe('Jobs that died again, with the error that they had died of.'),
        otherError: z.int().describe('Jobs that died again, with another error.'),
        cancelled: z.int(),
      })
      .nullable()
      .describe('What became of the replayed jobs; null for other actions.'),
    note: z.string().nullable().describe('Why it stopped or paused; of one that is done, what went wrong.'),
    reason: z.string(),
    actor: z.string(),
    createdAt: Time,
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
    cli: z.string(),
  })
  .openapi('Operation') satisfies z.ZodType<Shown>
export type Operation = z.infer<typeof Operation>

export const OperationDetail = Operation.extend({ asOf: Time }).openapi('OperationDetail')
export type OperationDetail = z.infer<typeof OperationDetail>

export const OperationPage = pageOf(Operation).openapi('OperationPage')
export type OperationPage = z.infer<typeof OperationPage>

export const OperationJob = z
  .object({
    id: Id,
    outcome: z.enum(jobOutcomes).nullable().describe('Null until the operation has come to this job.'),
    reason: z.string().nullable().describe('Why it was skipped or failed.'),
    fate: z
      .enum(jobFates)
      .nullable()
      .describe('What became of the job after a replay; null for other actions.'),
  })
  .openapi('OperationJob')
export const OperationJobPage = pageOf(OperationJob).openapi('OperationJobPage')
export type OperationJobPage = z.infer<typeof OperationJobPage>

export const PaceBody = z.strictObject({ pace: z.number().min(0.1).max(10_000).nullable() })
