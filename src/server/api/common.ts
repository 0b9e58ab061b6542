import { z } from '@hono/zod-openapi'
import { jobStates } from '../../core/job.ts'
import { priorityRange } from '../../core/priority.ts'

/**
 * Schemas that all answers share. The schemas check requests, give the routes and the dashboard their types, and make the
 * OpenAPI document: the API is described only here.
 */
/** Any UUID that Postgres accepts, also one without a version of RFC 9562. */
export const Id = z.guid().openapi({ example: '019a8c3e-7c1b-7d5e-9f4e-2a6b0c1d2e3f' })
export const Time = z.iso.datetime({ offset: true }).openapi({ example: '2026-11-16T10:06:31.412Z' })
export const Name = z.string().min(1).max(200)
/** Narrows a list of rules to those of one queue. */
export const OfQueue = Name.optional().describe('Only those that cover this queue or kinds of it.')
/** An error group: the fingerprint of its error. */
export const Fingerprint = z.string().regex(/^[\da-f]{8,64}$/)

export const Priority = z.int().min(priorityRange.min).max(priorityRange.max)

export const State = z.enum(jobStates)
export type State = z.infer<typeof State>

export const roles = ['viewer', 'operator', 'admin'] as const
export const Role = z.enum(roles)
export type Role = z.infer<typeof Role>

/** The actions that a role allows. `can` of the host's `auth` gets these names. */
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
  'pause',
  'probe',
  'flow',
  'edit',
  'schedule.edit',
  'queue.edit',
  'limit',
  'breaker',
  'audit',
] as const
export type Action = (typeof actions)[number]

/** A page of items, with a cursor and without a total. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    next: z.string().nullable().describe('The `cursor` of the next page; null on the last page.'),
    asOf: Time,
  })
}

/** Problem details of RFC 9457, with a hint. */
export const Problem = z
  .object({
    type: z.string().openapi({ example: 'urn:stint:problem:state-changed' }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    hint: z.string().optional().describe('What to do next.'),
    errors: z
      .array(z.object({ pointer: z.string(), message: z.string() }))
      .optional()
      .describe('The errors of the request, each with a JSON Pointer to its place.'),
    current: z.unknown().optional().describe('The current state, if the request expected another one.'),
    requestId: z.string(),
  })
  .openapi('Problem')
export type Problem = z.infer<typeof Problem>

export const Reason = z.string().min(1).max(1_000).describe('The reason, for the audit log.')

/** A duration such as '30s', in the syntax that all of Stint uses. */
export const DurationText = z
  .string()
  .regex(/^\d+(\.\d+)?(ms|s|m|h|d|w)$/)
  .openapi({ example: '30s' })
