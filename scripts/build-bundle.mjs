// Bundles src into dist: one file for each entry point, and the chunks that they share. A process that loads a hundred
// small modules spends more time on that than on everything else until its first job
// (docs/decisions/0025-bundled-build.md).
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const { exports: subpaths, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** The entry points that people import and run. */
const offered = [...Object.values(subpaths), ...Object.values(bin)]
  .filter((path) => path.endsWith('.js'))
  .map((path) => path.slice('./dist/'.length, -'.js'.length))
/** Processes and threads that we start: `builtFile()` in the sources. */
const programs = [
  'embedded/keeper',
  'worker/lease/lease-thread',
  'worker/isolate/child-program',
  'worker/isolate/guard-thread',
]
/** A file by itself, because it must be evaluated before pg and pino: a file runs its imports before its own code. */
const first = ['db/bundle-require']
/** Internal modules that the programs of the tests and benchmarks use. */
const insides = [
  'db/database',
  'schedules/fires/tick',
  'worker/operations-worker',
  'worker/report/numbers',
  'stats/write/gauges',
]

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: Object.fromEntries(
    [...offered, ...programs, ...first, ...insides].map((name) => [name, `src/${name}.ts`]),
  ),
  outdir: 'dist',
  chunkNames: 'chunks/[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  packages: 'external',
  write: false,
  logLevel: 'warning',
})

// Unchanged files are left alone: processes may be about to load them.
const written = new Set(outputFiles.map(({ path }) => path))
for (const { path, text } of outputFiles) {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
for (const path of builtBefore()) if (!written.has(path)) rmSync(path)

function builtBefore() {
  return readdirSync(dist, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.js'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !relative(dist, path).startsWith('dashboard'))
}
