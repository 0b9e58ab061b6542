import { HttpProblem, toPointer } from './problem.ts'
import type { PointedError } from './problem.ts'

interface SchemaIssue {
  path: readonly PropertyKey[]
  message: string
  keys?: readonly string[] | undefined
  /** For a union: the issues of each of its members. */
  errors?: readonly (readonly SchemaIssue[])[] | undefined
}

const mostErrors = 100
const places = { param: 'path', query: 'query', header: 'header', cookie: 'cookie' } as const

/** Refuses a request that does not match the schema of its route: 422 for the body, 400 for parameters. */
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

/** The first error, shortened; `errors` has all of them. */
function summary(errors: readonly PointedError[]): string {
  const [first] = errors
  if (first === undefined) return 'The request does not match its schema.'
  const text = `${first.pointer === '' ? 'body' : first.pointer}: ${first.message}`
  const shown = text.length <= 200 ? text : `${text.slice(0, 200)}…`
  return errors.length === 1 ? `${shown}.` : `${shown}; ${errors.length - 1} more in \`errors\`.`
}

function pointed({ path, message, keys }: SchemaIssue, place: readonly string[]): PointedError[] {
  const at = [...place, ...path]
  // One error per unknown field, each with its own pointer.
  if (keys !== undefined && keys.length > 0)
    return keys.map((key) => ({ pointer: toPointer([...at, key]), message: 'unknown field' }))
  return [{ pointer: toPointer(at), message }]
}
