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
}

export function writePage(file: string, run: Run): void {
  writeSection(file, { name: run.suite.name, title: run.suite.title, text: renderSection(run) })
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

function renderSection({ suite, systems, sizes, surroundings, results }: Run): string {
  const { date, commit, machine, loadAtStart, versions } = surroundings
  const settings = systems.map(({ name, version, settings: said }) => [name, version, said[suite.about]])
  return [
    `Measured on ${date} at commit ${commit}. ${machine}; load before the start ${loadAtStart.toFixed(2)}.`,
    `The servers and the measured process share this machine.`,
    '',
    Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(' · '),
    '',
    `Each figure is the median of ${sizes.rounds} rounds; in a round every system has its turn. *Spread* is the distance`,
    'between the lowest and the highest round, as a share of the median. Ratios are taken round by round.',
    suite.rule,
    '',
    ...results.map(({ workload, results: rows }) => markdownReport(workload, rows, sizes)),
    '### Settings',
    '',
    'Every system in the fastest settings that it documents; what depends on the machine was tried out for each',
    'system before its rounds, and the tables above say what won.',
    '',
    markdownTable(['system', 'version', 'settings and why'], settings),
    '',
    `PostgreSQL, one server for all, a new database per measurement: ${listed(postgresSettings)}; everything else`,
    'as it comes, so fsync and synchronous_commit are on. A checkpoint before each measurement.',
    `Redis: ${listed(redisSettings)}. Flushed, and its file rewritten, before each measurement.`,
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
figures: those are of the machine as much as of the systems. To check them, run \`npm run bench -- all\` on
yours; \`bench/README.md\` says how the measuring works and what it leaves out.
`
