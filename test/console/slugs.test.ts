import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')

test('every slug of a problem is on a reference page', () => {
  const folder = join(root, 'src/server')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const slugs = new Set<string>()
  for (const file of files.filter((name) => /(?<!\.test)\.ts$/.test(name))) {
    const text = readFileSync(join(folder, file), 'utf8')
    for (const [line] of text.matchAll(/\bcode: .*$/gm))
      for (const [, slug = ''] of line.replace(/,? title: .*/, '').matchAll(/'([a-z]+(?:-[a-z]+)*)'/g))
        slugs.add(slug)
  }
  expect(slugs.size).toBeGreaterThan(20)
  const page = (name: string): string => readFileSync(join(root, 'docs/reference', name), 'utf8')
  const known = page('http.md') + page('http-reads.md')
  const errors = page('errors.md')
  const missing = [...slugs].filter(
    (slug) => !known.includes(`\`${slug}\``) && !errors.includes(`\n## ${slug}\n`),
  )
  expect(missing).toEqual([])
})
