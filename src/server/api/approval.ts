import { z } from '@hono/zod-openapi'
import { Id, Time } from './common.ts'

const Given = z
  .object({
    answer: z.string().nullable().describe('Null if it is none of those that were asked for.'),
    at: Time,
  })
  .describe('The answer that counts.')

export const Approval = z
  .object({
    jobId: Id,
    kind: z.string().nullable().describe('Null if the job has ended since.'),
    signal: z.string(),
    about: z.string().nullable().describe('What is to be decided, in the words of the handler.'),
    answer: z.string().describe('The answer that this link gives.'),
    expiresAt: Time,
    given: Given.nullable().describe('Null while the question is open.'),
    asOf: Time,
  })
  .openapi('Approval')
export type Approval = z.infer<typeof Approval>
