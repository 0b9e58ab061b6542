import type { z } from '@hono/zod-openapi'
import { Problem } from '../api/common.ts'

/** Parts of route descriptions that several routes share. */

/** A required JSON body. */
export function accepts<Schema extends z.ZodType>(schema: Schema) {
  return { required: true, content: { 'application/json': { schema } } } as const
}

const descriptions = {
  400: 'The request cannot be read.',
  401: 'Not signed in.',
  403: 'Not allowed.',
  404: 'Not found.',
  409: 'The state has changed, or the same request is in progress.',
  410: 'Deleted after its retention.',
  412: 'The resource has changed since.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  422: 'The body is invalid.',
  428: 'The request must name the expected state.',
  429: 'The queue is full, or the job has too many signals; try again after the time in Retry-After.',
  503: 'The database is unavailable, or the console is at a limit; try again.',
} as const

type Failing = keyof typeof descriptions

/** The failure responses of a route; all of them are problem details. */
export function problems<Status extends Failing>(...statuses: readonly Status[]) {
  const entries = statuses.map((status) => [
    status,
    {
      description: descriptions[status],
      content: { 'application/problem+json': { schema: Problem } },
    },
  ])
  return Object.fromEntries(entries) as Record<
    Status,
    { description: string; content: { 'application/problem+json': { schema: typeof Problem } } }
  >
}
