import { nextId } from '../../src/jobs/new/ids.ts'
import { form } from './form.ts'
import type { CallableFunction, Write } from './hostile-catalog.ts'
import { kinds } from './hostile-planted.ts'
import { hostileMembers, hostileValues, usualValue } from './hostile-values.ts'

/** The queue of the jobs that the functions store. */
export const byFunction = 'by.function'

/** Members of the JSON that the functions take, with the type that each is read as. */
export const jsonMembers: Readonly<
  Record<string, { usual: string; types: Readonly<Record<string, string>> }>
> = {
  'enqueue_jobs.jobs': {
    usual: `[{"id":"$id","queue":"${byFunction}","kind":"${kinds.good}","input":{}}]`,
    types: {
      id: 'uuid',
      queue: 'text',
      kind: 'text',
      key: 'text',
      priority: 'smallint',
      version: 'smallint',
      maxAttempts: 'integer',
      runAt: 'timestamp with time zone',
      delayMs: 'double precision',
      input: 'jsonb',
      inputBlob: 'text',
      inputDigest: 'text',
      correlationId: 'text',
      traceparent: 'text',
      tracestate: 'text',
      parentId: 'uuid',
      flowId: 'uuid',
      deadlineAt: 'timestamp with time zone',
      deadlineMs: 'double precision',
      tokens: 'jsonb',
      options: 'jsonb',
      unique: 'jsonb',
      idempotencyKey: 'text',
      idempotencyScope: 'text',
      idempotencyForMs: 'double precision',
      'unique.key': 'text',
      'unique.forMs': 'double precision',
      'unique.until': 'text',
      'unique.onConflict': 'text',
    },
  },
  'enqueue.options': {
    usual: '{}',
    types: {
      runAt: 'timestamp with time zone',
      delay: 'interval',
      priority: 'smallint',
      key: 'text',
      attempts: 'integer',
      timeout: 'interval',
      version: 'smallint',
      deadline: 'timestamp with time zone',
      correlationId: 'text',
      traceparent: 'text',
      tracestate: 'text',
      idempotencyKey: 'text',
      idempotencyFor: 'interval',
      search: 'jsonb',
      unique: 'jsonb',
      'search.a': 'text',
      'unique.key': 'text',
      'unique.for': 'interval',
      'unique.until': 'text',
      'unique.onConflict': 'text',
    },
  },
  'note_enqueued.rows': {
    usual: `[{"minute":"$minute","queue":"${byFunction}","kind":"${kinds.good}","enqueued":1}]`,
    types: { minute: 'timestamp with time zone', queue: 'text', kind: 'text', enqueued: 'bigint' },
  },
}

const usualArguments: Readonly<Record<string, string>> = {
  'enqueue.queue': byFunction,
  'enqueue.kind': kinds.good,
  'ensure_partitions.days': '1',
  'note_enqueued.process': '018f3a10-0000-7000-8000-00000000000a',
}

function usualArgument(path: string, type: string): string {
  const usual = jsonMembers[path]?.usual ?? usualArguments[path] ?? usualValue(type)
  const minute = new Date(Math.floor(Date.now() / 60_000 - 90) * 60_000).toISOString()
  return usual.replace('$id', nextId()).replace('$minute', minute)
}

/** A call for every hostile value of every argument, and of every member of JSON. */
export function hostileCalls({ name, args }: CallableFunction): (Write & { about: string })[] {
  const casts = args.map(({ type }, at) => `($1)[${at + 1}]::${type}`)
  const statement = `select * from stint.${name}(${casts.join(', ')})`
  const given = (place: number, text: string | null): (string | null)[] =>
    args.map(({ name: argument, type }, at) =>
      at === place ? text : usualArgument(`${name}.${argument}`, type),
    )
  return args.flatMap(({ name: argument, type }, place) => {
    const path = `${name}.${argument}`
    const isTried = ({ isLarge }: { isLarge: boolean }): boolean => form !== 'short' || !isLarge
    const whole = (hostileValues(type) ?? []).filter(isTried).map(({ label, text }) => ({
      about: `${path} = ${label}`,
      statement,
      values: given(place, text),
    }))
    const parts = Object.entries(jsonMembers[path]?.types ?? {}).flatMap(([member, memberType]) =>
      hostileMembers(memberType)
        .filter(isTried)
        .map(({ label, json }) => ({
          about: `${path} ${member} = ${label}`,
          statement,
          values: given(place, withMember(usualArgument(path, type), member, json)),
        })),
    )
    return [...whole, ...parts]
  })
}

/** Adds a member to the object, or to the only object of the list; `unique.key` adds one to the object inside it. */
function withMember(usual: string, member: string, json: string): string {
  const [outer = '', inner] = member.split('.')
  const text = inner === undefined ? json : `{"${inner}":${json}}`
  // Of two members with one name, the last one counts.
  return usual.replace(
    /\}(\]?)$/,
    (_, end: string) => `${usual.includes('{}') && usual.length < 3 ? '' : ','}"${outer}":${text}}${end}`,
  )
}
