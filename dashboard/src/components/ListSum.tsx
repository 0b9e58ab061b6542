import { NewRows } from './NewRows.tsx'

/** Above a page of a list: what is on it, and the way to let in what came since. */
export function ListSum({
  count,
  next,
  waiting,
  letIn,
}: {
  /** '3 schedules' */
  count: string
  /** Of the page: where there is one, there are more. */
  next: string | null
  waiting: number
  letIn: () => void
}) {
  return (
    <p className="list-sum">
      <span>
        {count}
        {next === null ? '' : ' and more'}
      </span>
      <NewRows waiting={waiting} letIn={letIn} />
    </p>
  )
}
