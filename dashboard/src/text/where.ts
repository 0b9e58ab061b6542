/** Splits a filter into tokens, keeping quoted text together. The page needs no more of the grammar; the server parses it. */
export function tokens(where: string): string[] {
  return where.match(/(?:[^\s"]|"(?:[^"\\]|\\.)*"?)+/g) ?? []
}

export function token(name: string, value: string): string {
  return /^[\w@+=./-]+$/.test(value) ? `${name}:${value}` : `${name}:"${value.replaceAll(/["\\]/g, '\\$&')}"`
}

export function whereOf(parts: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(parts)
    .flatMap(([name, value]) => (value === undefined ? [] : [token(name, value)]))
    .join(' ')
}

/** The value of a name that occurs once; undefined if it does not occur, or more than once. */
export function valueOf(where: string, name: string): string | undefined {
  const found = tokens(where).filter((each) => each.startsWith(`${name}:`))
  const [only] = found
  if (only === undefined || found.length > 1) return undefined
  const value = only.slice(name.length + 1)
  return value.startsWith('"') ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value
}

/** The filter with the name set to this value, or without the name. */
export function withToken(where: string, name: string, value: string | undefined): string {
  const others = tokens(where).filter((each) => !each.startsWith(`${name}:`))
  return [...(value === undefined ? [] : [token(name, value)]), ...others].join(' ')
}

export const filterWords = [
  ['id:', 'a job id, or its last 4 to 12 characters; separate several with commas'],
  ['state:', 'ready, running, retrying, dead …; separate several with commas'],
  ['queue:', 'the name of a queue'],
  ['kind:', 'a kind; charge.* matches every kind that starts with charge.'],
  ['key:', 'a key, such as a tenant or an order'],
  ['error:', 'an error group: 4 or more of its first characters'],
  ['worker:', 'the id of the worker that runs the job'],
  ['correlation:', 'a correlation id'],
  ['age>', 'age>1h: older than an hour; age<5m: younger than 5 minutes'],
  ['reason:', 'why the job died or was cancelled'],
  ['priority:', 'a priority from -100 to 100'],
  ['input.', 'a search field of the contract: input.country:BR'],
  ['is:discarded', 'jobs in the trash'],
] as const
