import { invalidOption } from '../../core/options.ts'

/** '' or '/admin/jobs': what stands before every path of the console. */
export function basePathOption(value: unknown): string {
  if (typeof value === 'string') {
    const path = value.replace(/\/+$/, '')
    if (path === '' || /^(?:\/[\w.~-]+)+$/.test(path)) return path
  }
  throw invalidOption('basePath', "a path such as '/admin/jobs', of letters, digits and - . _ ~", value)
}

/** The path of a URL from the base on, as it was sent; undefined where it is outside. */
export function pathBelow(url: string, basePath: string): string | undefined {
  const { pathname } = new URL(url)
  if (pathname === basePath) return '/'
  return pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : undefined
}
