import type { z } from '@hono/zod-openapi'
import { Problem } from './api/common.ts'

/** What routes say of themselves in the same words. */

/** A JSON body that has to be there. */
export function accepts<Schema extends z.ZodType>(schema: Schema) {
  return { required: true, content: { 'application/json': { schema } } } as const
}

const descriptions = {
  400: 'The request cannot be read.',
  401: 'Not signed in.',
  403: 'Not allowed.',
  404: 'Not found.',
  409: 'Something is not as expected, or the same request is under way.',
  410: 'It was there, and is past its retention.',
  412: 'It has changed since.',
  413: 'The body is too large.',
  415: 'The body is no JSON.',
  422: 'The body is not as it should be.',
  428: 'It has to say what it expects.',
  503: 'The database or a limit of the console is in the way; try again.',
} as const

type Failing = keyof typeof descriptions

/** The failures of a route, all of one shape. */
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
