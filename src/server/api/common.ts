import { z } from '@hono/zod-openapi'
import { jobStates } from '../../core/job.ts'
import { priorityRange } from '../../core/priority.ts'

/**
 * What all answers share. These schemas check requests, type the routes and the dashboard, and make the OpenAPI
 * document: there is no second description of the API anywhere.
 */
/** Any UUID that Postgres stores, and not only those of a version that RFC 9562 names. */
export const Id = z.guid().openapi({ example: '019a8c3e-7c1b-7d5e-9f4e-2a6b0c1d2e3f' })
export const Time = z.iso.datetime({ offset: true }).openapi({ example: '2026-11-16T10:06:31.412Z' })
export const Name = z.string().min(1).max(200)
/** An error group: the fingerprint of its error. */
export const Fingerprint = z.string().regex(/^[\da-f]{8,64}$/)

export const Priority = z.int().min(priorityRange.min).max(priorityRange.max)

export const State = z.enum(jobStates)
export type State = z.infer<typeof State>

export const roles = ['viewer', 'operator', 'admin'] as const
export const Role = z.enum(roles)
export type Role = z.infer<typeof Role>

/** What can be done, and is asked of `auth` by this name. */
export const actions = [
  'view',
  'view.input',
  'enqueue',
  'replay',
  'cancel',
  'run-now',
  'reschedule',
  'reprioritize',
  'discard',
  'restore',
  'operation',
  'triage',
  'schedule.run',
  'edit',
  'schedule.edit',
  'queue.edit',
  'audit',
] as const
export type Action = (typeof actions)[number]

/** Every answer that is a page: no total, no offset. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    next: z.string().nullable().describe('The `cursor` of the next page; null where there is none.'),
    asOf: Time,
  })
}

/** RFC 9457, with the way out. */
export const Problem = z
  .object({
    type: z.string().openapi({ example: 'urn:stint:problem:state-changed' }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    hint: z.string().optional().describe('The next step, where there is one.'),
    errors: z
      .array(z.object({ pointer: z.string(), message: z.string() }))
      .optional()
      .describe('What is wrong with the request, each with a JSON Pointer into its body.'),
    current: z.unknown().optional().describe('How it is now, where something else was expected.'),
    requestId: z.string(),
  })
  .openapi('Problem')
export type Problem = z.infer<typeof Problem>

export const Reason = z.string().min(1).max(1_000).describe('Why, for the audit.')

/** A duration as everywhere in Stint. */
export const DurationText = z
  .string()
  .regex(/^\d+(\.\d+)?(ms|s|m|h|d|w)$/)
  .openapi({ example: '30s' })
