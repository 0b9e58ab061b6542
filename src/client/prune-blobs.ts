import type { Duration } from '../core/duration.ts'
import { durationOption, invalidOption } from '../core/options.ts'
import type { Queryable } from '../db/statement.ts'
import { pruneBlobs } from '../jobs/blobs/prune.ts'
import type { PruneResult } from '../jobs/blobs/prune.ts'
import type { BlobConfig } from '../jobs/new/new-job.ts'

/** Deletes the blobs that no job of this client's store needs any more. */
export async function pruneBlobsOf(
  db: Queryable,
  blobs: BlobConfig | undefined,
  grace: Duration,
): Promise<PruneResult> {
  if (blobs === undefined)
    throw invalidOption('blobs', 'given to new Stint() before pruneBlobs() is called', blobs)
  return pruneBlobs(db, blobs.store, durationOption('grace', grace))
}
