import type { Status } from '../../client/status.ts'
import { databaseHelp, databaseOptions, helpOption, noMore, parse } from '../arguments.ts'
import { withStint } from '../connect.ts'
import { countText, relative, short, span } from '../output/format.ts'
import type { Styled } from '../output/format.ts'
import { formatHelp, isJson, note, outputOption, say, sayJson, table } from '../output/output.ts'
import type { Count } from '../../stats/read/queues/queue-status.ts'

const help = `stint status    job counts by queue and state, live workers, and upkeep

Counts stop at 10,000 (10k+; ≈150k is what a worker last estimated), so the cost does not depend on the number of jobs. IN/s
and OUT/s are over the last 5 minutes, EMPTY IN estimates when no job is ready, at these rates.

${formatHelp}
${databaseHelp}

Examples
  stint status
  stint status -o json | jq '.queues[] | select(.dead.count > 0)'`

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

function queueTable({ queues, workers }: Status): string {
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
    countText(one.ready),
    one.oldestReadyMs === null ? '' : span(one.oldestReadyMs),
    one.inPerSecond === 0 ? '' : short(one.inPerSecond),
    one.outPerSecond === 0 ? '' : short(one.outPerSecond),
    one.ready.count === 0 || one.emptyInMs === null ? '' : span(one.emptyInMs),
    countText(one.running),
    String(workers.reduce((slots, { queues: served }) => slots + (served[one.queue] ?? 0), 0)),
    countText(one.retrying),
    countText(one.scheduled),
    countText(one.waiting),
    deadText(one.dead),
  ])
  return table(heads, rows, { spare: ['EMPTY IN', 'WAITING', 'IN/s', 'OUT/s'] })
}

function deadText(dead: Count): Styled {
  return { text: countText(dead), style: dead.count > 0 ? 'red' : undefined }
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
  const served = new Set(workers.flatMap((worker) => Object.keys(worker.queues)))
  const idle = queues.filter(({ queue, ready }) => ready.count > 0 && !served.has(queue))
  return [
    ...(pendingMigrations.length > 0
      ? [`${pendingMigrations.length} migrations not applied: run stint migrate`]
      : []),
    ...(queues.length === 0 ? ['no jobs'] : []),
    ...(workers.length > 0 && upkeep.leader === null ? ['no maintenance leader at the moment'] : []),
    ...(idle.length > 0 ? [`no live worker serves: ${idle.map(({ queue }) => queue).join(', ')}`] : []),
  ]
}
