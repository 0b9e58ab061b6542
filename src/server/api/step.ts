import { z } from '@hono/zod-openapi'
import { Time } from './common.ts'

export const JobStep = z
  .object({
    name: z.string(),
    n: z.int().describe('0 for the first call of this name.'),
    type: z.string().openapi({ example: 'step' }),
    state: z.enum(['open', 'done', 'failed']),
    tries: z.int(),
    startedAt: Time.nullable(),
    endedAt: Time.nullable().describe('Null while it is open.'),
    until: Time.nullable().describe('When its wait is over, if it has an end.'),
    result: z
      .unknown()
      .describe('Null if it returned nothing, or if the result is hidden; `resultHidden` then says why.'),
    resultHidden: z.enum(['role', 'size']).nullable(),
    error: z.object({ name: z.string(), message: z.string() }).nullable(),
  })
  .openapi('JobStep')
export type JobStep = z.infer<typeof JobStep>

const StepCall = z.object({ name: z.string(), n: z.int(), type: z.string() })

export const JobSteps = z
  .object({
    parked: z
      .object({
        reason: z.string(),
        tries: z.int().describe('How often it was tried and parked again.'),
        asked: StepCall.nullable().describe('The call that its handler made.'),
        recorded: StepCall.nullable().describe('The record that the handler should have asked for before.'),
        nextTryAt: Time.nullable(),
        cli: z.string().nullable().describe('The command that resumes it; null if you may not.'),
      })
      .nullable()
      .describe('Why the job is parked: its handler asks for other steps than those that are recorded.'),
    items: z.array(JobStep).describe('The last 1,000, in the order in which they were recorded.'),
    redacted: z.boolean().describe('Parts of the results were replaced.'),
    asOf: Time,
  })
  .openapi('JobSteps')
export type JobSteps = z.infer<typeof JobSteps>
