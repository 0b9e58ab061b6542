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
    title: isBody ? 'Invalid request body' : 'Invalid request parameter',
    detail: summary(errors),
    hint: 'GET /v1/openapi.json describes what this route accepts.',
    errors,
  })
}

/** The first of them, short: `errors` has all. */
function summary(errors: readonly PointedError[]): string {
  const [first] = errors
  if (first === undefined) return 'The request does not match its schema.'
  const text = `${first.pointer === '' ? 'body' : first.pointer}: ${first.message}`
  const shown = text.length <= 200 ? text : `${text.slice(0, 200)}…`
  return errors.length === 1 ? `${shown}.` : `${shown}; ${errors.length - 1} more in \`errors\`.`
}

function pointed({ path, message, keys }: SchemaIssue, place: readonly string[]): PointedError[] {
  const at = [...place, ...path]
  // Names that nobody knows, each at its own place.
  if (keys !== undefined && keys.length > 0)
    return keys.map((key) => ({ pointer: toPointer([...at, key]), message: 'unknown field' }))
  return [{ pointer: toPointer(at), message }]
}
