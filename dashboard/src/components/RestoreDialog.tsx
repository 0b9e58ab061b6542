import { useQuery } from '@tanstack/react-query'
import type { ApiError } from '../api/client.ts'
import { mostIds, operationJobs } from '../api/operations.ts'
import type { Operation, OperationJobPage } from '../api/operations.ts'
import { whole } from '../text/format.ts'
import { withToken } from '../text/where.ts'
import { Dialog } from './Dialog.tsx'
import { Loading } from './Loaded.tsx'
import { OperationDialog } from './OperationDialog.tsx'
import { ProblemNote } from './ProblemNote.tsx'

/** Undoes a discard operation: restores the jobs that this operation moved to the trash, and no others. */
export function RestoreDialog({ operation, close }: { operation: Operation; close: () => void }) {
  const { id, where, acted } = operation
  // The key has `acted`: while the operation runs, the list of its jobs grows.
  const { data, error } = useQuery<OperationJobPage, ApiError>({
    queryKey: ['operation-jobs', id, acted],
    queryFn: () => operationJobs(id, 'acted'),
    staleTime: Infinity,
  })
  if (data === undefined)
    return (
      <Dialog title="Restore jobs" close={close}>
        {error === null ? <Loading /> : <ProblemNote error={error} />}
      </Dialog>
    )
  if (data.next === null || where === null)
    return (
      <OperationDialog action="restore" target={{ ids: data.items.map((job) => job.id) }} close={close} />
    )
  return (
    <OperationDialog
      action="restore"
      target={{ where: trashOf(where) }}
      note={`The operation discarded more than ${whole(mostIds)} jobs, so this restores by its filter. Matching jobs that others discarded are restored too.`}
      close={close}
    />
  )
}

/** The filter of an operation, changed so that it matches the same jobs in the trash. */
function trashOf(where: string): string {
  return withToken(withToken(where, 'state', undefined), 'is', 'discarded')
}
