import type { Stats } from '../../client/stats.ts'
import { durationMs } from '../../core/duration.ts'
import { seriesOf } from '../../stats/read/series/read-stats.ts'
import type { Percentiles } from '../../stats/read/series/read-stats.ts'
import { choose, databaseHelp, databaseOptions, helpOption, noMore, parse, UsageError } from '../arguments.ts'
import { withStint } from '../connect.ts'
import { figureText, short, span } from '../output/format.ts'
import { note, say, sayJson, table } from '../output/output.ts'

const help = `stint stats    recent rates, failures, and percentiles of wait and run time, by queue and kind

FAILED counts attempts, DEAD counts the jobs whose last attempt failed, FAIL % is the share of ended attempts that failed.
WAIT is from the time a job was due to its start, RUN from the start of an attempt to its end; each p50 / p95 / p99, within
5 %. Processes write their counts every 10 s.

  --queue NAME          of this queue
  --kind NAME           of this kind
  --last DURATION       how far back: 15m (default), 2h, 7d; at most 92d
  --by WHAT             one line per queue and kind (kind, default), per queue (queue), or in total (all)
  --step DURATION       with -o json: the length of a point, in whole minutes
  -o, --output FORMAT   table (default) or json, which has the points
${databaseHelp}

Examples
  stint stats
  stint stats --queue mail --last 24h
  stint stats --last 2h --step 5m -o json | jq '.series[].points[] | [.at, .succeeded]'`

export async function stats(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    queue: { type: 'string' },
    kind: { type: 'string' },
    step: { type: 'string' },
    last: { type: 'string', default: '15m' },
    by: { type: 'string', default: 'kind' },
    output: { type: 'string', short: 'o', default: 'table' },
    ...databaseOptions,
    ...helpOption,
  })
  if (values.help) return say(help)
  noMore(positionals)
  const output = choose('output', values.output, ['table', 'json'])
  const lastMs = durationMs(values.last)
  if (lastMs === undefined)
    throw new UsageError(`Expected --last to be a duration such as 15m or 2h, got '${values.last}'.`)
  const { queue, kind, step } = values
  const by = choose('by', values.by, seriesOf)
  const from = new Date(Date.now() - lastMs)
  const found = await withStint(values, (stint) => stint.stats({ queue, kind, step, from, by }))
  if (output === 'json') return sayJson(found)
  if (found.series.length > 0) say(seriesTable(found))
  else note(`no data for the last ${values.last}`)
  if (found.queues.length > 0) say(`\n${queueTable(found)}`)
  return 0
}

function seriesTable({ series }: Stats): string {
  const heads = [
    ...['QUEUE', 'KIND', '>ENQUEUED', '>SUCCEEDED', '>PER s', '>FAILED', '>DEAD', '>FAIL %'],
    ...['>WAIT p50/p95/p99', '>RUN p50/p95/p99'],
  ]
  const rows = series.map((one) => [
    ...[
      one.queue ?? 'all',
      one.kind ?? 'all',
      short(one.enqueued),
      short(one.succeeded),
      short(one.perSecond),
    ],
    { text: short(one.failed + one.dead), style: one.failed > 0 ? ('yellow' as const) : undefined },
    { text: short(one.dead), style: one.dead > 0 ? ('red' as const) : undefined },
    one.failureRate === null ? '' : (one.failureRate * 100).toFixed(1),
    ...[percentilesText(one.wait), percentilesText(one.run)],
  ])
  return table(heads, rows, { spare: ['FAIL %', 'ENQUEUED', 'PER s', 'DEAD', 'WAIT p50/p95/p99'] })
}

function percentilesText({ p50, p95, p99 }: Percentiles): string {
  if (p50 === null || p95 === null || p99 === null) return ''
  return [p50, p95, p99].map((ms) => (ms < 10 ? `${Number(ms.toPrecision(2))}ms` : span(ms))).join(' / ')
}

function queueTable({ queues }: Stats): string {
  const heads = ['QUEUE', '>READY', '>RUNNING', '>OLDEST', '>IN/s', '>OUT/s', '>EMPTY IN']
  const rows = queues.map((one) => [
    one.queue,
    figureText(one, 'ready'),
    figureText(one, 'running'),
    one.oldestReadyMs === null ? '' : span(one.oldestReadyMs),
    short(one.inPerSecond),
    short(one.outPerSecond),
    one.ready === 0 || one.emptyInMs === null ? '' : span(one.emptyInMs),
  ])
  return table(heads, rows)
}
