import { NewRows } from './NewRows.tsx'

/** The line above a list: the number of items, and a button that shows new items. */
export function ListSum({
  count,
  next,
  waiting,
  letIn,
}: {
  /** '3 schedules' */
  count: string
  /** The cursor of the next page; null on the last page. */
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
