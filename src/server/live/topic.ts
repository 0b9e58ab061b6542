import { createHash } from 'node:crypto'
import { isUuid } from '../../core/uuid.ts'

/** A resource, or a whole screen, whose changes a viewer gets. */
export type Topic =
  | { type: 'overview' | 'workers'; name: string }
  | { type: 'queue' | 'job' | 'operation'; name: string; of: string }

const queueName = /^[A-Za-z0-9_][A-Za-z0-9_.:/%-]{0,127}$/

/** The topic with this name; undefined if the name is not valid. */
export function topicOf(name: string): Topic | undefined {
  if (name === 'overview' || name === 'workers') return { type: name, name }
  const [, type, of = ''] = /^(queue|job|operation):(.+)$/s.exec(name) ?? []
  if (type === 'queue') return queueName.test(of) ? { type, name, of } : undefined
  if (type !== 'job' && type !== 'operation') return undefined
  const id = of.toLowerCase()
  return isUuid(id) ? { type, name, of: id } : undefined
}

/** The topics in a request. `unknown` is the first name that is not a topic. */
export function topicsIn(text: string): { topics: Topic[]; unknown: string | undefined } {
  const topics: Topic[] = []
  for (const name of new Set(text.split(','))) {
    const topic = topicOf(name.trim())
    if (topic === undefined) return { topics, unknown: name }
    topics.push(topic)
  }
  return { topics, unknown: undefined }
}

/** A digest of the topics that does not depend on their order. */
export function digestOf(topics: readonly Topic[]): string {
  const names = topics.map(({ name }) => name).sort()
  return createHash('sha256').update(names.join('\n')).digest('hex').slice(0, 8)
}
