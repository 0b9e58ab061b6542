import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'

const built = join(import.meta.dirname, '../../dist/dashboard')
const index = readFileSync(join(built, 'index.html'), 'utf8')
const kb = 1_024

function weight(files: Iterable<string>): number {
  return [...files].reduce(
    (sum, file) => sum + gzipSync(readFileSync(join(built, 'assets', file)), { level: 9 }).length,
    0,
  )
}

/** A chunk and all chunks that it imports before it can run. */
function withImports(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found
  found.add(file)
  const text = readFileSync(join(built, 'assets', file), 'utf8')
  for (const [, name = ''] of text.matchAll(/(?:from|import)\s*["']\.\/([^"']+\.js)["']/g))
    withImports(name, found)
  return found
}

const [, entry = ''] = /<script type="module"[^>]* src="\.\/assets\/([^"]+)"/.exec(index) ?? []
const first = withImports(entry)

test('the first load is at most 90 KB of JavaScript and 12 KB of CSS, gzipped', () => {
  const styles = [...index.matchAll(/href="\.\/assets\/([^"]+\.css)"/g)].map(([, name = '']) => name)
  expect(first.size).toBeGreaterThan(1)
  expect(styles).not.toEqual([])
  expect(weight(first)).toBeLessThanOrEqual(90 * kb)
  expect(weight(styles)).toBeLessThanOrEqual(12 * kb)
})

test('a screen that is opened later loads at most 25 KB more', () => {
  const lazy = readdirSync(join(built, 'assets')).filter((name) => /^(\w+Route|Plot)-.*\.js$/.test(name))
  expect(lazy.length).toBeGreaterThan(9)
  for (const file of lazy) {
    const more = [...withImports(file)].filter((name) => !first.has(name))
    expect(weight(more), file).toBeLessThanOrEqual(25 * kb)
  }
})

test('the page has no inline script and no inline style, and its URLs are relative', () => {
  expect(index).not.toMatch(/<style|\sstyle=|\son\w+=/)
  expect([...index.matchAll(/<script\b[^>]*>([^<]*)<\/script>/g)].map(([, text]) => text)).toEqual([''])
  const addresses = [...index.matchAll(/\s(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address)
  expect(addresses.filter((address) => !address.startsWith('./'))).toEqual(['/'])
})
