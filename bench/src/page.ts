import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { Sizes } from './bench.ts'
import { markdownReport } from './report.ts'
import type { Result } from './result.ts'
import { postgresSettings } from './servers/postgres.ts'
import { redisSettings } from './servers/redis.ts'
import type { Suite } from './suites.ts'
import type { Surroundings } from './surroundings.ts'
import type { System } from './systems/system.ts'
import { markdownTable } from './table.ts'
import type { Workload } from './workloads/workload.ts'

export interface Run {
  suite: Suite
  systems: readonly System[]
  sizes: Sizes
  surroundings: Surroundings
  results: readonly { workload: Workload; results: readonly Result[] }[]
  /** Whether every suite is measured in this run, so that none keeps figures of other surroundings. */
  isAll: boolean
}

/**
 * Rewrites the section of a suite, and those that all suites share: the settings, and the machine with its versions.
 * A suite that was measured on another machine, or with other versions, than the page says names its own.
 */
export function writePage(file: string, run: Run): void {
  const { suite, systems, surroundings, isAll } = run
  const here = renderSurroundings(surroundings)
  const shared = sectionOn(file, 'surroundings')
  if (isAll || shared === undefined)
    writeSection(file, { name: 'surroundings', title: 'Machine and versions', text: here })
  const isElsewhere = !isAll && shared !== undefined && shared !== here.trim()
  const text = renderSuite(run) + (isElsewhere ? `\n${here}` : '')
  writeSection(file, { name: suite.name, title: suite.title, text })
  writeSection(file, { name: 'settings', title: 'Settings', text: renderSettings(systems) })
}

/** What a section says now; undefined where the page has no such section. */
function sectionOn(file: string, name: string): string | undefined {
  const page = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const [, rest] = page.split(`<!-- bench:${name}:start -->`)
  return rest?.split(`<!-- bench:${name}:end -->`)[0]?.trim()
}

/** Rewrites a section between its markers and leaves the rest of the page to people. */
export function writeSection(
  file: string,
  { name, title, text }: { name: string; title: string; text: string },
): void {
  const start = `<!-- bench:${name}:start -->`
  const end = `<!-- bench:${name}:end -->`
  const page = existsSync(file) ? readFileSync(file, 'utf8') : skeleton
  const from = page.indexOf(start)
  const to = page.indexOf(end)
  const section = `${start}\n\n${text}\n${end}`
  const kept = from >= 0 && to > from
  writeFileSync(
    file,
    kept
      ? page.slice(0, from) + section + page.slice(to + end.length)
      : `${page.trimEnd()}\n\n## ${title}\n\n${section}\n`,
  )
}

function renderSuite({ suite, sizes, surroundings, results }: Run): string {
  const { date, commit, loadAtStart } = surroundings
  const rounds = sizes.rounds === 1 ? 'one round' : `${sizes.rounds} rounds`
  return [
    `Measured on ${date} at commit ${commit} in ${rounds}; load before the start ${loadAtStart.toFixed(2)}.`,
    suite.rule,
    '',
    ...results.map(({ workload, results: rows }) => markdownReport(workload, rows, sizes)),
  ].join('\n')
}

function renderSurroundings({ machine, versions }: Surroundings): string {
  const listedVersions = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  return [
    `${machine}. The servers and the measured process share this machine.`,
    '',
    listedVersions.join(' · '),
    '',
  ].join('\n')
}

function renderSettings(systems: readonly System[]): string {
  const said = systems.map(({ name, settings }) => [name, settings.enqueue, settings.work])
  return [
    'Every system runs in the fastest settings that it documents. Settings that depend on the machine were tried for',
    'each system before its rounds; the column *with* of the tables says which ones won.',
    '',
    markdownTable(['system', 'to enqueue', 'to work'], said).replace('---:', '---'),
    '',
    `PostgreSQL: one server for all, a new database per measurement, ${listed(postgresSettings)}. Everything else is`,
    'the default, so fsync and synchronous_commit are on. A checkpoint precedes each measurement.',
    `Redis: ${listed(redisSettings)}. It is flushed, and its file rewritten, before each measurement.`,
    '',
  ].join('\n')
}

function listed(settings: Record<string, string>): string {
  return Object.entries(settings)
    .map(([name, value]) => `\`${name} = ${value === '' ? "''" : value}\``)
    .join(', ')
}

const skeleton = `# Benchmarks

Stint and its peers, measured side by side on one machine by \`npm run bench\`. Read the ratios rather than the
figures: the figures depend on the machine as much as on the systems. To check them, run \`npm run bench -- all\` on
your machine. \`bench/README.md\` says how the measuring works and what it leaves out.

Each figure is the median of its rounds; in a round every system has its turn. *Spread* is the distance between the
lowest and the highest round, as a share of the median. *stint ÷ it* is taken round by round: more is better for rates,
less is better for times and requests. *with* names the settings that won.
`
