/** The `where` grammar as far as the page has to know it: words apart, quotes kept together. The server reads it. */
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

/** The value of a name that is given once; undefined where it is not, or more than once. */
export function valueOf(where: string, name: string): string | undefined {
  const found = tokens(where).filter((each) => each.startsWith(`${name}:`))
  const [only] = found
  if (only === undefined || found.length > 1) return undefined
  const value = only.slice(name.length + 1)
  return value.startsWith('"') ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value
}

/** With the name set to this value, or without it. */
export function withToken(where: string, name: string, value: string | undefined): string {
  const others = tokens(where).filter((each) => !each.startsWith(`${name}:`))
  return [...(value === undefined ? [] : [token(name, value)]), ...others].join(' ')
}

export const filterWords = [
  ['id:', 'a job, whole or as tables show it; several with commas'],
  ['state:', 'ready, running, retrying, dead …; several with commas'],
  ['queue:', 'a queue'],
  ['kind:', 'a kind; charge.* for all that begin so'],
  ['key:', 'a tenant or entity'],
  ['error:', 'an error group, 4 digits or more'],
  ['worker:', 'the worker that runs it'],
  ['correlation:', 'a correlation id'],
  ['age>', 'older than: age>1h; age<5m is younger'],
  ['reason:', 'why it died or was cancelled'],
  ['priority:', 'a priority'],
  ['input.', 'a search token of its contract: input.country:BR'],
  ['is:discarded', 'in the trash'],
] as const
