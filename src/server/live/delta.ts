import type { LiveDelta } from '../api/events.ts'
import type { Topic } from './topic.ts'

/** The state of a topic: an answer of the API, or null if the resource does not exist. */
export type State = Readonly<Record<string, unknown>> | null

/** The lists of a topic whose items are compared one by one, with the field that identifies an item. */
const namedLists: Readonly<Record<Topic['type'], Readonly<Record<string, string>>>> = {
  overview: { queues: 'queue' },
  workers: { items: 'id', services: 'name' },
  queue: {},
  job: {},
  operation: {},
}

/** This field differs at each read; alone it is no change. */
const ageOnly = 'asOf'

/** The difference between two states; undefined if only `asOf` differs. 'replaced': the whole state has to be sent. */
export function deltaOf(topic: Topic, before: State, now: State): LiveDelta | 'replaced' | undefined {
  if (before === null || now === null) return before === now ? undefined : 'replaced'
  const set: Record<string, unknown> = {}
  const lists: LiveDelta['lists'] = {}
  for (const [field, value] of Object.entries(now)) {
    const old = before[field]
    if (field === ageOnly || isSame(old, value)) continue
    const itemName = namedLists[topic.type][field]
    if (itemName === undefined || !Array.isArray(old) || !Array.isArray(value)) set[field] = value
    else lists[field] = changesOf(old as Item[], value as Item[], itemName)
  }
  if (Object.keys(set).length === 0 && Object.keys(lists).length === 0) return undefined
  if (ageOnly in now) set[ageOnly] = now[ageOnly]
  return { topic: topic.name, set, lists }
}

type Item = Readonly<Record<string, unknown>>

function changesOf(
  before: readonly Item[],
  now: readonly Item[],
  name: string,
): { changed: Item[]; gone: string[] } {
  const old = new Map(before.map((item) => [String(item[name]), item]))
  const names = new Set(now.map((item) => String(item[name])))
  return {
    changed: now.filter((item) => !isSame(old.get(String(item[name])), item)),
    gone: [...old.keys()].filter((one) => !names.has(one)),
  }
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}
