import type { LiveDelta } from '../api/events.ts'
import type { Topic } from './topic.ts'

/** What is known of a topic: an answer of the API, or null where there is none. */
export type State = Readonly<Record<string, unknown>> | null

/** The lists of a topic whose items have a name of their own. */
const namedLists: Readonly<Record<Topic['type'], Readonly<Record<string, string>>>> = {
  overview: { queues: 'queue' },
  workers: { items: 'id', services: 'name' },
  queue: {},
  job: {},
  operation: {},
}

/** Differs each time it is looked at, and says nothing by itself. */
const ageOnly = 'asOf'

/** What makes the new state of the old one; undefined where nothing but its age is another. */
export function deltaOf(topic: Topic, before: State, now: State): LiveDelta | 'anew' | undefined {
  if (before === null || now === null) return before === now ? undefined : 'anew'
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
