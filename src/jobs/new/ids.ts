import { randomFillSync } from 'node:crypto'
import { uuidTime, uuidV7 } from '../../core/uuid.ts'

const random = new Uint8Array(8 * 512)
let offset = random.length
let lastMs = 0
let sequence = 0
let time = ''

/**
 * The next job id of this process. Ids grow strictly, so jobs of one batch run in the order they were given: they
 * share their run_at, and the id decides. If 4,096 a millisecond are not enough, or the clock goes back, the time in
 * the ids runs ahead. That time is only used to find old partitions, with an hour to spare.
 */
export function nextId(): string {
  const now = Date.now()
  if (now > lastMs || sequence === 0xfff) {
    lastMs = Math.max(now, lastMs + 1)
    time = uuidTime(lastMs)
    sequence = 0
  } else sequence++
  if (offset === random.length) {
    randomFillSync(random)
    offset = 0
  }
  const id = uuidV7(time, sequence, random, offset)
  offset += 8
  return id
}
