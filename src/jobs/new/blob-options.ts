import type { BlobStore } from '../blobs/store.ts'
import { integerOption, invalidOption, rejectUnknown } from '../../core/options.ts'
import type { BlobConfig } from './new-job.ts'

export interface BlobOptions {
  /** Where large inputs go, such as `fileBlobStore({ dir })`. Producers and workers need the same. */
  store: BlobStore
  /** Inputs with more bytes of JSON than this leave their row. @default 65536 */
  thresholdBytes?: number | undefined
  /** And none may have more than this. @default 67108864 */
  maxBytes?: number | undefined
}

export function resolveBlobs({
  store,
  thresholdBytes = 65_536,
  maxBytes = 67_108_864,
  ...rest
}: BlobOptions): BlobConfig {
  rejectUnknown('blobs', rest, ['store', 'thresholdBytes', 'maxBytes'], 'blobs.')
  if (typeof (store as unknown) !== 'object')
    throw invalidOption('blobs.store', 'a BlobStore, such as fileBlobStore({ dir })', store)
  return Object.freeze({
    store,
    thresholdBytes: integerOption('blobs.thresholdBytes', thresholdBytes, { min: 0, max: 262_144 }),
    maxBytes: integerOption('blobs.maxBytes', maxBytes, { min: 1 }),
  })
}
