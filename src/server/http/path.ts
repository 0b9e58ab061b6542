import { invalidOption } from '../../core/options.ts'

/** The prefix of every path of the console: '' or, for example, '/admin/jobs'. */
export function basePathOption(value: unknown): string {
  if (typeof value === 'string') {
    const path = value.replace(/\/+$/, '')
    if (path === '' || /^(?:\/[\w.~-]+)+$/.test(path)) return path
  }
  throw invalidOption('basePath', "a path such as '/admin/jobs', of letters, digits and - . _ ~", value)
}

/** The path of a URL below the base path, not decoded; undefined if the URL is outside it. */
export function pathBelow(url: string, basePath: string): string | undefined {
  const { pathname } = new URL(url)
  if (pathname === basePath) return '/'
  return pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : undefined
}
