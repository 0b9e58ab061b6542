import { z } from '@hono/zod-openapi'
import { jobFates, jobOutcomes, operationActions, operationStates } from '../../core/operation.ts'
import { Id, pageOf, Priority, Reason, Time } from './common.ts'
import { JobItem } from './job.ts'

/** Either a filter, frozen by the time it was given, or ids. */
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
        'Jobs tried first. @default of a replay: 1 of up to 10 jobs, a tenth of up to 100, else 10; 1 where one of them crashed its worker; 0 of a single job',
      ),
    pace: z
      .number()
      .min(0.1)
      .max(10_000)
      .nullable()
      .optional()
      .describe(
        'Jobs a second after the canary; null: as fast as it goes. @default 20 for a replay of more than 100, otherwise null',
      ),
    stopIf: z
      .strictObject({
        sameError: z.number().min(0).max(100).optional(),
        anyFailure: z.number().min(0).max(100).optional(),
      })
      .optional()
      .describe(
        'Percent of the canary, and then of all that have ended, above which it stops. @default sameError 20',
      ),
    max: z.int().min(1).max(1_000_000).optional().describe('Never more than this. @default 10,000'),
    asOf: Time.optional().describe(
      'Of the preview that was looked at: what was made, or died, since then is not taken. @default now',
    ),
    reason: Reason.optional().describe('Required unless it is a dry run.'),
    dryRun: z.boolean().optional(),
  })
  .openapi('NewOperation')
export type NewOperation = z.infer<typeof NewOperation>

export const Preview = z
  .object({
    action: z.enum(operationActions),
    matched: z
      .object({ count: z.int(), exact: z.boolean() })
      .describe('Counted up to 10,000, or for a second.'),
    samples: z.array(JobItem).describe('Five of them.'),
    excluded: z.array(z.object({ reason: z.string(), count: z.int() })),
    canary: z.int(),
    pace: z.number().nullable(),
    stopIf: z.object({ sameError: z.number().nullable(), anyFailure: z.number().nullable() }),
    crashed: z.int().describe('Of the jobs to be replayed, those that crashed their worker.'),
    asOf: Time,
    cli: z.string(),
  })
  .openapi('Preview')
export type Preview = z.infer<typeof Preview>

export const Operation = z
  .object({
    id: Id,
    action: z.enum(operationActions),
    state: z.enum(operationStates),
    where: z.string().nullable(),
    ids: z.int().describe('How many ids it was given; 0 for a filter.'),
    frozenAt: Time.describe(
      'Jobs that match only later are not taken: the `asOf` of its preview, or of its start.',
    ),
    canary: z.int(),
    pace: z.number().nullable(),
    stopIf: z.object({ sameError: z.number().nullable(), anyFailure: z.number().nullable() }),
    max: z.int(),
    crashed: z.int().describe('Of the jobs to be replayed, those that crashed their worker.'),
    matched: z.int().nullable().describe('In the preview; null where it was not counted to the end.'),
    acted: z.int(),
    skipped: z.int(),
    failed: z.int(),
    skippedBy: z.record(z.string(), z.int()),
    canaryResult: z
      .object({ decided: z.int(), succeeded: z.int(), failed: z.int(), sameError: z.int() })
      .nullable(),
    fates: z
      .object({
        live: z.int().describe('Have not ended, or had not when the operation did.'),
        succeeded: z.int(),
        sameError: z.int().describe('Dead again, with the error that they had died of.'),
        otherError: z.int().describe('Dead again, with another error.'),
        cancelled: z.int(),
      })
      .nullable()
      .describe('What became of the jobs that a replay brought back; null for other actions.'),
    note: z.string().nullable().describe('Why it stopped, paused or failed.'),
    reason: z.string(),
    actor: z.string(),
    createdAt: Time,
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
    cli: z.string(),
  })
  .openapi('Operation')
export type Operation = z.infer<typeof Operation>

export const OperationDetail = Operation.extend({ asOf: Time }).openapi('OperationDetail')
export type OperationDetail = z.infer<typeof OperationDetail>

export const OperationPage = pageOf(Operation).openapi('OperationPage')

export const OperationJob = z
  .object({
    id: Id,
    outcome: z.enum(jobOutcomes).nullable().describe('Null until it is its turn.'),
    reason: z.string().nullable().describe('Why it was skipped or failed.'),
    fate: z
      .enum(jobFates)
      .nullable()
      .describe('What became of it after a replay; null where that is not followed.'),
  })
  .openapi('OperationJob')
export const OperationJobPage = pageOf(OperationJob).openapi('OperationJobPage')
export type OperationJobPage = z.infer<typeof OperationJobPage>

export const PaceBody = z.strictObject({ pace: z.number().min(0.1).max(10_000).nullable() })
