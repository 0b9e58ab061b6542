import { z } from '@hono/zod-openapi'
import { predicateNames } from '../../limits/why/verdict.ts'
import { Id, State, Time } from './common.ts'

export const WhyHolder = z
  .object({
    id: Id,
    queue: z.string(),
    kind: z.string(),
    key: z.string().nullable(),
    state: State,
    workerId: Id.nullable(),
    heldMs: z.int().nullable().describe('How long the job has been running.'),
  })
  .openapi('WhyHolder')
export type WhyHolder = z.infer<typeof WhyHolder>

export const WhyPredicate = z
  .object({
    name: z.enum(predicateNames),
    holds: z.boolean().nullable().describe('Null if it was not judged, because another one decides.'),
    says: z.string().describe('In words; empty if there is nothing to say.'),
    holders: z
      .array(WhyHolder)
      .optional()
      .describe('The jobs that stand in the way, without those that the caller may not see.'),
    clearsInMs: z.int().optional().describe('When it should hold again.'),
  })
  .openapi('WhyPredicate')
export type WhyPredicate = z.infer<typeof WhyPredicate>

export const Why = z
  .object({
    claimable: z.boolean().describe('A claim with room for all ready jobs would take this one now.'),
    first: z.enum(predicateNames).nullable().describe('The first condition that does not hold.'),
    predicates: z.array(WhyPredicate).describe('All conditions of a claim, in order.'),
    startsInMs: z.int().optional().describe('An estimate from the last five minutes.'),
    asOf: Time,
  })
  .openapi('Why')
export type Why = z.infer<typeof Why>

export const WhyTwice = z
  .object({
    attempts: z.array(
      z.object({
        epoch: z.int(),
        attempt: z.int(),
        cause: z.string().openapi({ example: 'lease-lost' }),
        burned: z.boolean().describe('Whether it counts against the attempts of the job.'),
        at: Time.nullable(),
        worker: Id.nullable(),
        says: z.string(),
      }),
    ),
    asOf: Time,
  })
  .openapi('WhyTwice')
export type WhyTwice = z.infer<typeof WhyTwice>
