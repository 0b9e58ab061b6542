import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const source = join(root, 'src')

const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
const modules = files.filter((name) => name.endsWith('.ts') && !/\.(test|test-d|sql)\.ts$/.test(name))

/** Folder → the folders it may import, from the table in ARCHITECTURE.md. */
function allowedImports(): Map<string, Set<string>> {
  const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  const [, section = ''] = page.split('## Imports point down')
  const rows = [...section.matchAll(/^\| `([a-z-]+)` +\|([a-z -]*)\|$/gm)]
  return new Map(
    rows.map(([, folder = '', allowed = '']) => [
      folder,
      new Set(allowed.split(' ').filter((name) => name !== '')),
    ]),
  )
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(source, file), 'utf8')
  const imports = text.matchAll(/^(?:import|export)\b[^'"]*?\bfrom\s*'([^']+)'|\bimport\(\s*'([^']+)'/gm)
  return [...imports].map(([, specifier, lazy]) => specifier ?? lazy ?? '')
}

/** The room of a file: its first folder. Files directly in src are the public surface. */
function folderOf(file: string): string {
  const [first = '', ...rest] = file.split(sep)
  return rest.length === 0 ? 'surface' : first
}

test('the table of imports names every folder, and every folder it names exists', () => {
  const folders = new Set(modules.map(folderOf))
  expect([...allowedImports().keys()].sort()).toEqual([...folders].sort())
})

test.each(modules)('%s imports only from the folders its own folder may import', (file) => {
  const allowed = allowedImports().get(folderOf(file)) ?? new Set<string>()
  for (const specifier of importsOf(file).filter((name) => name.startsWith('.'))) {
    const target = folderOf(relative(source, join(source, dirname(file), specifier)))
    expect(target === folderOf(file) || allowed.has(target), `${file} imports ${specifier}`).toBe(true)
  }
})

test('no import leads back to the file that it starts from', () => {
  const cycles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file)
    if (at !== -1) cycles.push([...path.slice(at), file].join(' → '))
    if (at !== -1 || done.has(file)) return
    for (const specifier of importsOf(file).filter((name) => name.startsWith('.')))
      visit(join(dirname(file), specifier), [...path, file])
    done.add(file)
  }
  for (const file of modules) visit(file, [])
  expect(cycles).toEqual([])
})

test('core and contracts load in a browser: they import nothing of Node and no package but types', () => {
  for (const file of modules.filter((name) => ['core', 'contracts'].includes(folderOf(name)))) {
    const foreign = importsOf(file).filter(
      (specifier) => !specifier.startsWith('.') && specifier !== '@standard-schema/spec',
    )
    expect(foreign, file).toEqual([])
  }
})

test('core reads no clock', () => {
  for (const file of modules.filter((name) => folderOf(name) === 'core')) {
    expect(readFileSync(join(source, file), 'utf8'), file).not.toMatch(
      /Date\.now|performance\.now|new Date\(\)/,
    )
  }
})

test('only db imports the driver', () => {
  expect(modules.filter((file) => importsOf(file).includes('pg') && folderOf(file) !== 'db')).toEqual([])
})

test('only the output of the command line writes to the console', () => {
  const talkers = modules.filter((file) =>
    /\bconsole\.\w+\(|process\.std(out|err)\.write|readline/.test(readFileSync(join(source, file), 'utf8')),
  )
  expect(talkers).toEqual(['cli/output/output.ts'])
})

test('every fragment of SQL is included by several statements', () => {
  const texts = files
    .filter((name) => name.endsWith('.sql'))
    .map((name) => readFileSync(join(source, name), 'utf8'))
  for (const name of files.filter(isFragment)) {
    const include = new RegExp(`-- include: ${name.replace('fragments/', '').replace(/\.sql$/, '')}$`, 'm')
    expect(texts.filter((text) => include.test(text)).length, name).toBeGreaterThan(1)
  }
})

test('every .sql file has exactly one importer', () => {
  const importers = new Map<string, string[]>()
  for (const file of modules) {
    for (const specifier of importsOf(file).filter((name) => name.endsWith('.sql.ts'))) {
      const target = relative(source, join(source, dirname(file), specifier)).replace(/\.ts$/, '')
      importers.set(target, [...(importers.get(target) ?? []), file])
    }
  }
  const statements = files.filter(
    (name) => name.endsWith('.sql') && !name.endsWith('schema.sql') && !isFragment(name),
  )
  expect(Object.fromEntries([...importers].map(([name, users]) => [name, users.length]))).toEqual(
    Object.fromEntries(statements.map((name) => [name, 1])),
  )
})

function isFragment(name: string): boolean {
  return /\/fragments\/[^/]+\.sql$/.test(name)
}
