import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import type { Stint } from '../../src/index.ts'
import { SharedReads } from '../../src/server/answers/shared-reads.ts'
import type { Caller } from '../../src/server/auth/caller.ts'
import { Live } from '../../src/server/live/live.ts'
import type { LiveOptions } from '../../src/server/live/live.ts'
import { liveSource } from '../../src/server/live/source.ts'
import { topicsIn } from '../../src/server/live/topic.ts'
import { eventually } from '../support/eventually.ts'
import { EventReader } from './event-reader.ts'
import { anything } from './scene.ts'

export const ana: Caller = { actor: 'ana', role: 'viewer', origin: 'api', can: () => true }

/** A live part that closes with the test. It polls ten times as often as it does for people. */
export function openLive(stint: Stint, options: Partial<LiveOptions> = {}): Live {
  const source = liveSource(stint, new SharedReads(stint))
  const live = new Live({ source, tickMs: 50, ...options })
  onTestFinished(() => live.close())
  return live
}

interface LookOptions {
  caller?: Caller
  lastEventId?: string
  recheck?: () => Promise<Caller | undefined>
}

/** Opens a stream of the topics and reads it. */
export function look(live: Live, topics: string, options: LookOptions = {}): EventReader {
  const { caller = ana, lastEventId, recheck = () => Promise.resolve(caller) } = options
  return new EventReader(live.open({ caller, topics: topicsIn(topics).topics, lastEventId, recheck }))
}

/** Waits until the live part stops reading, because there is no viewer left. */
export async function untilIdle(live: Live): Promise<void> {
  await eventually(() => {
    expect(live.isLooking).toBe(false)
    return Promise.resolve()
  })
}

/** Stores a job in a queue of its own, and returns its id. */
export async function newJobId(stint: Stint, options: Parameters<Stint['enqueue']>[2] = {}): Promise<string> {
  const { id } = await stint.enqueue(anything, null, { queue: `q.${randomUUID().slice(0, 8)}`, ...options })
  return id
}

type Shown = Record<string, unknown> | null

/**
 * What a page shows of a topic if it keeps the last snapshot and applies the deltas; undefined before the first snapshot.
 */
export function shownOf({ events }: EventReader, topic: string): Shown | undefined {
  let shown: Shown | undefined
  for (const { event, data } of events) {
    if (data['topic'] !== topic) continue
    if (event === 'snapshot') shown = data['data'] as Shown
    if (event === 'delta') shown = { ...shown, ...(data['set'] as object) }
  }
  return shown
}

/** The priority that a reader of one job shows. */
export function priorityIn(reader: EventReader): unknown {
  const topic = reader.events.find(({ event }) => event === 'snapshot')?.data['topic']
  return shownOf(reader, String(topic))?.['priority']
}

/** The changes of a job's priority in the order in which they were sent. */
export function prioritiesTold(...readers: readonly EventReader[]): unknown[] {
  return readers.flatMap(({ events }) =>
    events.flatMap(({ event, data }) => {
      const set = event === 'delta' ? (data['set'] as Record<string, unknown>) : {}
      return 'priority' in set ? [set['priority']] : []
    }),
  )
}
