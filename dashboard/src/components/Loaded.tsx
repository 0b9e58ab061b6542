import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { ApiError } from '../api/client.ts'
import { ProblemNote } from './ProblemNote.tsx'

/**
 * The loading, failed and empty states of every screen. Data that was shown stays when a later request fails; a line above
 * then says that it is old.
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

/** Bars in place of text while it loads. They appear after a short delay, so that a quick answer does not flicker. */
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
