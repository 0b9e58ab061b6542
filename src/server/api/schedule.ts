import { z } from '@hono/zod-openapi'
import { missedPolicies, overlapPolicies } from '../../schedules/rules/define-schedule.ts'
import { DurationText, Id, Name, Priority, Reason, Time } from './common.ts'

export const Fire = z
  .object({
    fireAt: Time,
    outcome: z.enum(['fired', 'skipped', 'missed', 'queued', 'asked']),
    jobId: Id.nullable(),
    reason: z.string().nullable(),
    at: Time,
  })
  .openapi('Fire')
export type Fire = z.infer<typeof Fire>

export const ScheduleItem = z
  .object({
    name: z.string(),
    kind: z.string(),
    queue: z.string(),
    rule: z.string().describe('The rule in words.'),
    spec: z.unknown().describe('The rule as it was defined.'),
    timeZone: z.string(),
    overlap: z.string(),
    missed: z.object({ policy: z.string(), limit: z.int(), windowMs: z.number() }),
    jitterMs: z.number(),
    startsAt: Time.nullable(),
    endsAt: Time.nullable(),
    source: z.enum(['code', 'runtime']),
    isOrphan: z.boolean(),
    isPaused: z.boolean(),
    pausedUntil: Time.nullable(),
    pauseReason: z.string().nullable(),
    nextFireAt: Time.nullable(),
    lastFireAt: Time.nullable(),
    lastOutcome: z.string().nullable(),
    failures: z.int(),
    invalid: z.string().nullable().describe('Why the stored schedule is invalid and does not fire.'),
    recent: z.array(Fire).describe('The last 20 fires, newest first.'),
  })
  .openapi('ScheduleItem')
export type ScheduleItem = z.infer<typeof ScheduleItem>

export const ScheduleList = z
  .object({ items: z.array(ScheduleItem), next: z.string().nullable(), asOf: Time })
  .openapi('ScheduleList')
export type ScheduleList = z.infer<typeof ScheduleList>

export const NextFire = z.object({ at: Time, shift: z.enum(['gap', 'overlap']).nullable() })
export const ScheduleDetail = ScheduleItem.extend({
  input: z.unknown(),
  inputFromCode: z.boolean(),
  lastError: z.string().nullable(),
  askedFires: z
    .int()
    .describe(
      'Requested fires that wait for a worker with the code of the schedule; the count stops at 10,000.',
    ),
  upcoming: z.array(NextFire).describe('The next five fires.'),
  asOf: Time,
}).openapi('ScheduleDetail')
export type ScheduleDetail = z.infer<typeof ScheduleDetail>

export const SetScheduleBody = z
  .strictObject({
    kind: Name.optional().describe('The kind of its jobs; required for a new schedule.'),
    queue: Name.optional().describe(
      'The queue of its jobs; by default that of the contract, if the console has it.',
    ),
    cron: z.string().min(1).max(200).optional().describe('5 fields, or 6 with the seconds first.'),
    every: DurationText.optional().describe('Instead of `cron`.'),
    at: z.array(Time).min(1).max(1_000).optional().describe('Instead of `cron`.'),
    timeZone: z.string().min(1).max(100).optional().describe('For `cron`.'),
    input: z.unknown().optional(),
    priority: Priority.optional(),
    attempts: z.int().min(1).max(1_000).optional(),
    overlap: z.enum(overlapPolicies).optional(),
    missed: z
      .strictObject({
        policy: z.enum(missedPolicies).optional(),
        limit: z.int().min(1).max(1_000).optional(),
        window: DurationText.optional(),
      })
      .optional(),
    jitter: DurationText.optional(),
    keepFires: DurationText.optional(),
    startsAt: Time.nullable().optional(),
    endsAt: Time.nullable().optional(),
    reason: Reason.optional(),
  })
  .openapi('SetSchedule')
export type SetScheduleBody = z.infer<typeof SetScheduleBody>

export const PauseScheduleBody = z.strictObject({
  until: Time.optional(),
  for: DurationText.optional(),
  reason: Reason.optional(),
})
export const RunScheduleBody = z.strictObject({ reason: Reason.optional() })
export const BackfillBody = z.strictObject({
  from: Time,
  to: Time,
  dryRun: z.boolean().optional(),
  reason: Reason.optional(),
})
export { Name }
