import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { ApiError } from '../api/client.ts'
import { ProblemNote } from './ProblemNote.tsx'

/**
 * What every screen shows while it has nothing to show: still loading, failed, or empty. Once there was data it stays,
 * also when the next answer fails: then a line above says how old it is.
 */
export function Loaded<Answer>({
  query,
  children,
  isEmpty,
  empty,
}: {
  query: UseQueryResult<Answer, ApiError>
  children: (answer: Answer) => ReactNode
  isEmpty?: (answer: Answer) => boolean
  empty?: ReactNode
}) {
  const { data, error, isPending } = query
  if (data === undefined) {
    if (error !== null) return <ProblemNote error={error} retry={() => void query.refetch()} />
    return isPending ? <Loading /> : null
  }
  return (
    <>
      {error === null ? null : <ProblemNote error={error} retry={() => void query.refetch()} isLate />}
      {isEmpty?.(data) === true ? <div className="empty">{empty}</div> : children(data)}
    </>
  )
}

/** Bars where text will be. They appear only after a moment, so that a quick answer does not flicker. */
export function Loading() {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">Loading</span>
      <i />
      <i />
      <i />
    </div>
  )
}
