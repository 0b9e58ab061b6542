import { useState } from 'react'
import { Link } from 'wouter'
import type { StoredError } from '../api/jobs.ts'
import { query } from '../url/use-url.ts'

/** A stored error: its name, message, frames of the app, and a link to jobs with the same error. All of it is plain text. */
export function StoredErrorNote({ error }: { error: StoredError }) {
  const [isFull, setFull] = useState(false)
  const frames = framesOf(error.stack)
  const own = frames.filter((frame) => !/node_modules|node:|internal\//.test(frame))
  const shown = isFull || own.length === 0 ? frames : own
  return (
    <div className="error-note">
      <p className="error-line">
        <strong>{error.name ?? 'Error'}</strong> {error.message}
      </p>
      <p className="muted error-facts">
        {error.class === null ? null : <span>{error.class}</span>}
        {error.group === null ? null : (
          <>
            <Link href={`/dead${query({ group: error.group })}`}>group {error.group.slice(0, 8)}</Link>
            <Link href={`/jobs${query({ where: `state:dead error:${error.group}` })}`}>same error</Link>
          </>
        )}
        {own.length > 0 && own.length < frames.length ? (
          <button
            type="button"
            className="button quiet"
            aria-pressed={isFull}
            onClick={() => {
              setFull(!isFull)
            }}
          >
            {isFull ? 'Only frames of the app' : `All ${frames.length} frames`}
          </button>
        ) : null}
      </p>
      {shown.length === 0 ? null : (
        <pre className="frames" tabIndex={0} aria-label="Stack">
          {shown.join('\n')}
        </pre>
      )}
      {error.causes.length === 0 ? null : (
        <ul className="causes">
          {error.causes.map((cause, index) => (
            <li key={index}>
              caused by <strong>{cause.name ?? 'Error'}</strong> {cause.message}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function framesOf(stack: string | null): string[] {
  return (stack ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at '))
}
