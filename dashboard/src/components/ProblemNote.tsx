import { ApiError } from '../api/client.ts'
import { here } from '../url/use-url.ts'
import { CliLine } from './CliLine.tsx'
import { Icon } from './Icon.tsx'

/** The problem that the server answered, with its hint. */
export function ProblemNote({
  error,
  retry,
  isLate = false,
}: {
  error: Error
  retry?: () => void
  isLate?: boolean
}) {
  const problem = error instanceof ApiError ? error.problem : undefined
  const isSignedOut = problem?.status === 401
  return (
    <div className={`note ${isLate ? 'note-warn' : 'note-fail'}`} role="alert">
      <Icon name={isLate ? 'warn' : 'fail'} />
      <div className="note-body">
        <strong>
          {isLate ? 'Showing older data: ' : ''}
          {problem?.title ?? 'Something went wrong on this page'}
        </strong>
        <span>{problem?.detail ?? error.message}</span>
        {problem?.hint === undefined ? null : isCommand(problem.hint) ? (
          <CliLine command={problem.hint} />
        ) : (
          <span>{problem.hint}</span>
        )}
        {problem?.requestId ? <small className="muted">request {problem.requestId}</small> : null}
      </div>
      {isSignedOut ? (
        <a className="button" href={`./login?to=${encodeURIComponent(here())}`}>
          Sign in
        </a>
      ) : retry === undefined ? null : (
        <button type="button" className="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

function isCommand(hint: string): boolean {
  return hint.startsWith('stint ') || hint.startsWith('npx stint ')
}
