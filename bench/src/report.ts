import type { Sizes } from './bench.ts'
import type { Result } from './result.ts'
import { alignedTable, markdownTable } from './table.ts'
import type { Workload } from './workloads/workload.ts'

/** One line of --json: all that one system did in one workload. Parts (the depths) are inside their workload. */
export function jsonLines(results: readonly Result[]): string {
  const lines = new Map<string, object>()
  for (const result of results) {
    const { workload, system, version, unit, outcome, ...figures } = result
    const named = { workload, system, version, unit }
    if (result.at === undefined) {
      lines.set(system, { ...named, outcome, ...figures })
      continue
    }
    const known = lines.get(system) as { parts: object[] } | undefined
    if (known) known.parts.push({ outcome, ...figures })
    else lines.set(system, { ...named, parts: [{ outcome, ...figures }] })
  }
  return [...lines.values()].map((line) => `${JSON.stringify(line)}\n`).join('')
}

export function terminalReport(workload: Workload, results: readonly Result[], sizes: Sizes): string {
  const { head, rows } = toTable(workload, results)
  return `\n${workload.name}: ${workload.title(sizes)}\n\n${alignedTable(head, rows)}\n`
}

export function markdownReport(workload: Workload, results: readonly Result[], sizes: Sizes): string {
  const { head, rows } = toTable(workload, results)
  return `### ${workload.name}\n\n${capitalised(workload.title(sizes))}.\n\n${markdownTable(head, rows)}\n`
}

interface Column {
  title: string
  cell: (result: Result) => string | undefined
}

/** Only the columns that some result of the workload has something for. */
function toTable(workload: Workload, results: readonly Result[]) {
  const isAboutOne = new Set(results.map(({ system }) => system)).size === 1
  const columns: Column[] = [
    {
      title: 'system',
      cell: ({ system, at }) => (isAboutOne ? (at ?? system) : [system, at].filter(Boolean).join(', ')),
    },
    { title: workload.unit, cell: figure },
    { title: 'spread', cell: ({ spread, rounds = [] }) => (rounds.length > 1 ? percent(spread) : undefined) },
    { title: 'p50 ms', cell: ({ p50Ms }) => p50Ms?.toFixed(2) },
    { title: 'p90 ms', cell: ({ p90Ms }) => p90Ms?.toFixed(2) },
    { title: 'p99 ms', cell: ({ p99Ms }) => p99Ms?.toFixed(2) },
    { title: 'max ms', cell: ({ maxMs }) => maxMs?.toFixed(2) },
    { title: 'first tenth', cell: ({ firstTenth }) => whole(firstTenth) },
    { title: 'last tenth', cell: ({ lastTenth }) => whole(lastTenth) },
    { title: 'last ÷ first', cell: ({ lastOfFirst }) => lastOfFirst?.toFixed(2) },
    { title: 'from cold', cell: ({ fromCold }) => whole(fromCold) },
    { title: 'CPU µs/job', cell: ({ cpuMicrosPerJob }) => cpuMicrosPerJob?.toFixed(1) },
    { title: 'WAL B/job', cell: ({ walBytesPerJob }) => whole(walBytesPerJob) },
    {
      title: 'of the quota',
      cell: ({ quotaShare }) => (quotaShare === undefined ? undefined : `${(quotaShare * 100).toFixed(1)} %`),
    },
    { title: 'CPU %', cell: ({ cpuPercent }) => cpuPercent?.toFixed(2) },
    { title: 'MB start', cell: ({ rssStartMb }) => whole(rssStartMb) },
    { title: 'MB middle', cell: ({ rssMiddleMb }) => whole(rssMiddleMb) },
    { title: 'MB max', cell: ({ rssMaxMb }) => whole(rssMaxMb) },
    { title: 'MB end', cell: ({ rssEndMb }) => whole(rssEndMb) },
    { title: `of ${workload.base ?? 'base'}`, cell: ({ baseRatio }) => percent(baseRatio) },
    { title: 'stint ÷ it', cell: ({ stintRatio }) => times(stintRatio) },
    { title: 'with', cell: ({ tuning }) => tuning },
  ]
  // Where a percentile is the figure itself, it has its column already.
  const used = columns.filter(
    ({ title, cell }, index) =>
      (index < 2 || title !== workload.unit) && results.some((result) => cell(result) !== undefined),
  )
  return {
    head: used.map(({ title }) => title),
    rows: results.map((result) => used.map(({ cell }) => cell(result) ?? '–')),
  }
}

function figure({ outcome, reason, median, cutAfterSeconds }: Result): string | undefined {
  if (outcome !== 'measured') return `${outcome}: ${reason}`
  if (median === undefined) return undefined
  const cut = cutAfterSeconds === undefined ? '' : ` (cut after ${Math.round(cutAfterSeconds)} s)`
  return `${median < 100 ? median.toFixed(2) : whole(median)}${cut}`
}

function whole(value: number | undefined): string | undefined {
  return value === undefined ? undefined : Math.round(value).toLocaleString('en')
}

function percent(share: number | undefined): string | undefined {
  return share === undefined ? undefined : `${Math.round(share * 100)} %`
}

function times(ratio: number | undefined): string | undefined {
  return ratio === undefined ? undefined : `${ratio.toFixed(ratio < 10 ? 2 : 1)}×`
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
