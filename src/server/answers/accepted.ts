import type { JobState } from '../../core/job.ts'
import type { AcceptedItem, AcceptedJob } from '../api/job.ts'
import type { ConsoleParts } from '../context.ts'

export interface StoredJob {
  id: string
  state: JobState
  /** No new job was stored: `id` is a job that existed before. */
  duplicate: boolean
}

/** The answer to a request that stored one job. */
export function acceptedJob(parts: Pick<ConsoleParts, 'basePath'>, stored: StoredJob): AcceptedJob {
  return { ...acceptedItem(parts, stored), asOf: new Date().toISOString() }
}

/** The same, as an item of the answer to a batch. */
export function acceptedItem(
  { basePath }: Pick<ConsoleParts, 'basePath'>,
  { id, state, duplicate }: StoredJob,
): AcceptedItem {
  const self = `${basePath}/v1/jobs/${id}`
  return { id, state, duplicate, links: { self, result: `${self}/result`, logs: `${self}/logs` } }
}
