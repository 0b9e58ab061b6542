import { HttpProblem, toPointer } from './problem.ts'
import type { PointedError } from './problem.ts'

interface SchemaIssue {
  path: readonly PropertyKey[]
  message: string
  keys?: readonly string[] | undefined
  /** Of a union: what is wrong with it as each of its members. */
  errors?: readonly (readonly SchemaIssue[])[] | undefined
}

const mostErrors = 100
const places = { param: 'path', query: 'query', header: 'header', cookie: 'cookie' } as const

/** A request that is not what its route is described to take: 422 for the body, 400 for the rest. */
export function invalidRequest(target: string, issues: readonly object[]): HttpProblem {
  const isBody = target === 'json' || target === 'form'
  const place = isBody ? [] : [places[target as keyof typeof places]]
  const errors = issues.flatMap((issue) => pointed(issue as SchemaIssue, place)).slice(0, mostErrors)
  return new HttpProblem({
    status: isBody ? 422 : 400,
    code: isBody ? 'invalid-body' : 'invalid-parameters',
    title: isBody ? 'The body is not as it should be' : 'A parameter is not as it should be',
    detail:
      errors.length === 1 ? 'One thing is wrong with it.' : `${errors.length} things are wrong with it.`,
    hint: 'GET /v1/openapi.json says what is expected.',
    errors,
  })
}

function pointed({ path, message, keys }: SchemaIssue, place: readonly string[]): PointedError[] {
  const at = [...place, ...path]
  // Names that nobody knows, each at its own place.
  if (keys !== undefined && keys.length > 0)
    return keys.map((key) => ({ pointer: toPointer([...at, key]), message: 'is not known here' }))
  return [{ pointer: toPointer(at), message }]
}
