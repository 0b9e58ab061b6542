import { randomFillSync } from 'node:crypto'
import { uuidV7 } from '../core/uuid.ts'

const random = new Uint8Array(8 * 512)
let offset = random.length
let lastMs = 0
let sequence = 0

/**
 * The next job id of this process. Ids grow strictly, so jobs of one batch run in the order they were given: they
 * share their run_at, and the id decides. Where 4,096 a millisecond are not enough, or the clock goes back, the time
 * in them runs ahead; nothing reads it but to look up old partitions, with an hour to spare.
 */
export function nextId(): string {
  const now = Date.now()
  if (now > lastMs) {
    lastMs = now
    sequence = 0
  } else if (++sequence > 0xfff) {
    lastMs += 1
    sequence = 0
  }
  if (offset === random.length) {
    randomFillSync(random)
    offset = 0
  }
  const id = uuidV7({ timeMs: lastMs, sequence, random, offset })
  offset += 8
  return id
}
