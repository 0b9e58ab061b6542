import { createHash } from 'node:crypto'

/** A value that a type accepts and no honest program writes. */
export interface Hostile {
  /** Short enough for a report. */
  label: string
  /** The text that Postgres casts to the type: `text::type`. Null is the null of SQL. */
  text: string | null
  /** So large that it is planted once, and not in every circumstance. */
  isLarge: boolean
}

/** Text that does not compress, so that an index refuses it for its length. */
function noise(bytes: number): string {
  let text = ''
  for (let block = 0; text.length < bytes; block++)
    text += createHash('sha256').update(String(block)).digest('base64url')
  return text.slice(0, bytes)
}

const texts: Record<string, string> = {
  "''": '',
  '2.6 KB': noise(2_600),
  '3.8 KB': noise(3_800),
  '1 MB': noise(1_048_576),
  'escape sequences': '\u001b[2J\u001b]0;owned\u0007\u009b31m\b\r\n\t\u007f',
  'bidi overrides': '\u202elive\u202c\u2066\u2069\u200f',
  'look-alike': 'g\u043e\u043ed.job',
  '../../../etc/passwd': '../../../etc/passwd',
  'a/b%2F.?#&c d': 'a/b%2F.?#&c d',
  '%': '%',
  '..': '..',
  constructor: 'constructor',
  __proto__: '__proto__',
  quotes: `'"; drop table stint.job; --`,
}

const deep = `${'['.repeat(200)}${']'.repeat(200)}`
const jsons: Record<string, string> = {
  'JSON null': 'null',
  '[]': '[]',
  '[null]': '[null]',
  '{}': '{}',
  '"abc"': '"abc"',
  '200 deep': deep,
  '1e400': '1e400',
  '{"a":1e400}': '{"a":1e400,"b":-1e400}',
  '{"__proto__"}': '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
  '{"timeoutMs":"abc"}': '{"timeoutMs":"abc"}',
  '{"timeoutMs":-1}': '{"timeoutMs":-1}',
  '{"timeoutMs":1e300}': '{"timeoutMs":1e300}',
  '{"timeoutMs":{}}': '{"timeoutMs":{}}',
  '{"crashLimit":1e300}': '{"crashLimit":1e300}',
  '{"crashLimit":"abc"}': '{"crashLimit":"abc"}',
  '{"percent":"abc"}': '{"percent":"abc","note":{"a":1},"at":7}',
  'every -5 ms': '{"type":"every","everyMs":-5}',
  'every 0 ms': '{"type":"every","everyMs":0}',
  'every 1e-9 ms': '{"type":"every","everyMs":1e-9}',
  'every "abc"': '{"type":"every","everyMs":"abc"}',
  'cron without times': '{"type":"cron","cron":"0 0 31 2 *"}',
  'cron {}': '{"type":"cron","cron":{}}',
  'at 1e300': '{"type":"at","atMs":[1e300,"abc",null]}',
  'unknown type': '{"type":"constructor"}',
  '300 KB': `"${'x'.repeat(300_000)}"`,
}

const times = {
  infinity: 'infinity',
  '-infinity': '-infinity',
  'year 294276': '294276-12-31 23:59:59.999999+00',
  'year 275760': '275760-09-14 00:00:00+00',
  '4713 BC': '4713-01-01 00:00:00+00 BC',
}

const edges = (...numbers: string[]): Record<string, string> =>
  Object.fromEntries([...numbers, '0', '-1'].map((number) => [number, number]))

/** By type, as format_type() names it. */
const byType: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  text: texts,
  jsonb: jsons,
  'timestamp with time zone': times,
  smallint: edges('-32768', '32767'),
  integer: edges('-2147483648', '2147483647'),
  bigint: edges('-9223372036854775808', '9223372036854775807', '9007199254740993'),
  'double precision': edges('NaN', 'Infinity', '-Infinity', '1e308'),
  interval: {
    infinity: 'infinity',
    '-infinity': '-infinity',
    '178000000 years': '178000000 years',
    '1 month -31 days': '1 month -31 days',
    '0': '0',
    '-1 day': '-1 day',
  },
  uuid: {
    'all zero': '00000000-0000-0000-0000-000000000000',
    'all f': 'ffffffff-ffff-ffff-ffff-ffffffffffff',
    'version 4': '5d7a3c1e-8f0b-4c64-9a51-3f6e0d2b7c98',
  },
  boolean: { true: 'true', false: 'false' },
  bytea: { empty: '\\x', '3.8 KB': `\\x${Buffer.from(noise(3_800)).toString('hex')}` },
  'text[]': {
    '{NULL}': '{NULL}',
    '{}': '{}',
    '{""}': '{""}',
    'no colon': '{word}',
    '{__proto__:x}': '{__proto__:x,constructor:y}',
    '2 dimensions': '{{a:b,c:d},{e:f,g:h}}',
    'a word of 3.8 KB': `{a:${noise(3_800)}}`,
    '10,000 words': `{${Array.from({ length: 10_000 }, (_, n) => `w${n}:${n}`).join(',')}}`,
  },
  'uuid[]': {
    '{NULL}': '{NULL}',
    '{}': '{}',
    'twice the same': '{ffffffff-ffff-ffff-ffff-ffffffffffff,ffffffff-ffff-ffff-ffff-ffffffffffff}',
    '2 dimensions': '{{00000000-0000-0000-0000-000000000000},{5d7a3c1e-8f0b-4c64-9a51-3f6e0d2b7c98}}',
  },
  'stint.job_state': Object.fromEntries(
    ['scheduled', 'waiting', 'ready', 'running', 'retrying', 'succeeded', 'cancelled', 'dead'].map(
      (state) => [state, state],
    ),
  ),
}

const largeFrom = 100_000

/** All hostile values of a type, including null; undefined if none are known. */
export function hostileValues(type: string): Hostile[] | undefined {
  const known = byType[type]
  if (known === undefined) return undefined
  const values = Object.entries(known).map(([label, text]) => ({
    label,
    text,
    isLarge: text.length > largeFrom,
  }))
  return [...values, { label: 'null', text: null, isLarge: false }]
}

/** Values that an honest program might write, for columns and arguments that are not the hostile one. */
export function usualValue(type: string): string {
  const usual: Readonly<Record<string, string>> = {
    text: 'usual',
    jsonb: '{}',
    'timestamp with time zone': 'now',
    uuid: '018f3a10-0000-7000-8000-000000000001',
    interval: '1 day',
    boolean: 'false',
    bytea: '\\x00',
    'text[]': '{}',
    'uuid[]': '{}',
    'stint.job_state': 'ready',
  }
  return usual[type] ?? '1'
}

/** The same values inside JSON: a hostile member of type `type`. */
export function hostileMembers(type: string): { label: string; json: string; isLarge: boolean }[] {
  const isNumber = ['smallint', 'integer', 'bigint', 'double precision'].includes(type)
  const own = (hostileValues(type) ?? []).flatMap(({ label, text, isLarge }) => {
    if (text === null) return []
    if (type === 'jsonb') return [{ label, json: text, isLarge }]
    const isWritten = isNumber && Number.isFinite(Number(text))
    return [{ label, json: isWritten ? text : JSON.stringify(text), isLarge }]
  })
  const shapes = ['null', '[]', '[null]', '{}', '"abc"', '1e300', '-1.5', 'true']
  return [...own, ...shapes.map((json) => ({ label: json, json, isLarge: false }))]
}
