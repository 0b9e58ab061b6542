import type { Status } from '../../client/status.ts'
import { databaseHelp, databaseOptions, helpOption, noMore, parse } from '../arguments.ts'
import { withStint } from '../connect.ts'
import { figureText, relative, short, span } from '../output/format.ts'
import { formatHelp, isJson, note, outputOption, say, sayJson, table } from '../output/output.ts'
import { pausedText } from './queue/show.ts'

const help = `stint status    job counts by queue and state, live workers, and upkeep

Counts stop at 10,000, so the cost does not depend on the number of jobs: 10k+ means at least 10,000, ≈150k is the last
estimate of a worker. IN/s and OUT/s are over the last 5 minutes, EMPTY IN is the time until no job is ready, at these rates.

${formatHelp}
${databaseHelp}

Examples
  stint status
  stint status -o json | jq '.queues[] | select(.dead > 0)'`

export async function status(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    ...outputOption,
    ...databaseOptions,
    ...helpOption,
  })
  if (values.help) return say(help)
  noMore(positionals)
  const asJson = isJson(values.output)
  const found = await withStint(values, (stint) => stint.status())
  if (asJson) return sayJson(found)
  say(`schema at version ${found.schemaVersion}`)
  if (found.queues.length > 0) say(`\n${queueTable(found)}`)
  if (found.workers.length > 0) say(`\n${workerTable(found)}`)
  if (found.upkeep.services.length > 0) say(`\n${upkeepTable(found)}`)
  for (const warning of warnings(found)) note(warning)
  return 0
}

function queueTable({ queues }: Status): string {
  const heads = [
    'QUEUE',
    '>READY',
    '>OLDEST',
    '>IN/s',
    '>OUT/s',
    '>EMPTY IN',
    '>RUNNING',
    '>SLOTS',
    '>RETRYING',
    '>SCHEDULED',
    '>WAITING',
    '>DEAD',
  ]
  const rows = queues.map((one) => [
    one.queue,
    figureText(one, 'ready'),
    one.oldestReadyMs === null ? '' : span(one.oldestReadyMs),
    one.inPerSecond === 0 ? '' : short(one.inPerSecond),
    one.outPerSecond === 0 ? '' : short(one.outPerSecond),
    one.ready === 0 || one.emptyInMs === null ? '' : span(one.emptyInMs),
    figureText(one, 'running'),
    String(one.slots),
    figureText(one, 'retrying'),
    figureText(one, 'scheduled'),
    figureText(one, 'waiting'),
    { text: figureText(one, 'dead'), style: one.dead > 0 ? ('red' as const) : undefined },
  ])
  return table(heads, rows, { spare: ['EMPTY IN', 'WAITING', 'IN/s', 'OUT/s'] })
}

function workerTable({ workers, asOf }: Status): string {
  const heads = ['WORKER', 'HOST/PID', 'VERSION', 'QUEUES', '>KINDS', '>UP', 'LEASE']
  const rows = workers.map((worker) => [
    worker.id,
    `${worker.host ?? '?'}/${worker.pid ?? '?'}`,
    worker.version ?? '',
    Object.entries(worker.queues)
      .map(([queue, slots]) => `${queue}×${slots}`)
      .join(' '),
    String(worker.kinds.length),
    span(asOf.getTime() - worker.startedAt.getTime()),
    worker.leaseUntil < asOf
      ? { text: `ended ${relative(worker.leaseUntil, asOf)}`, style: 'yellow' as const }
      : span(worker.leaseUntil.getTime() - asOf.getTime()),
  ])
  return table(heads, rows, { spare: ['KINDS', 'VERSION', 'UP'] })
}

function upkeepTable({ upkeep: { leader, services }, asOf }: Status): string {
  const rows = services.map((service) => [
    service.name,
    service.lastOkAt === null ? 'never' : relative(service.lastOkAt, asOf),
    service.tookMs === null ? '' : span(service.tookMs),
    service.lastError === null ? '' : { text: service.lastError, style: 'red' as const },
  ])
  const who = leader === null ? 'none' : `${leader.host ?? '?'}/${leader.pid ?? '?'}`
  return `${table(['UPKEEP', 'LAST SUCCESS', '>TOOK', 'ERROR'], rows)}\nleader: ${who}`
}

function warnings({ pendingMigrations, queues, workers, upkeep }: Status): string[] {
  const paused = queues.filter(({ pauses }) => pauses.length > 0)
  const unserved = queues.filter((one) => one.ready > 0 && one.workers === 0)
  return [
    ...(pendingMigrations.length > 0
      ? [`${pendingMigrations.length} migrations not applied: run stint migrate`]
      : []),
    ...(queues.length === 0 ? ['no jobs'] : []),
    ...(paused.length > 0
      ? [`paused: ${paused.map(({ queue, pauses }) => `${queue} (${pausedText(pauses)})`).join(', ')}`]
      : []),
    ...(workers.length > 0 && upkeep.leader === null ? ['no maintenance leader at the moment'] : []),
    ...(unserved.length > 0
      ? [`no live worker serves: ${unserved.map(({ queue }) => queue).join(', ')}`]
      : []),
  ]
}
