import type { Job } from '../../core/job.ts'
import type { WhyTwice } from '../../jobs/attempt/why-twice.ts'
import type { Why } from '../../limits/why/why.ts'
import { oneLine, paint, relative, span } from './format.ts'
import { table } from './output.ts'

const marks = { true: '✓', false: '✗', null: '–' } as const

/** The conditions of a claim on one line, then the sentence of each that does not hold. */
export function whyPage(id: string, job: Job | undefined, why: Why): string {
  const { predicates, first, startsInMs, asOf } = why
  const said = predicates.filter(
    ({ holds, says, name }) => says !== '' && (holds === false || (first === null && name === 'visible')),
  )
  const width = Math.max(0, ...said.map(({ name }) => name.length))
  const starts = startsInMs === undefined ? [] : [`starts in ≈ ${span(startsInMs)}`]
  return [
    job === undefined ? `job ${id}` : headline(job, asOf),
    ` ${predicates.map(({ name, holds }) => `${marks[String(holds) as keyof typeof marks]} ${name}`).join(' ')}`,
    ...said.map(({ name, says }) =>
      paint({ text: ` ${name.padEnd(width)}  ${says}`, style: name === first ? 'bold' : undefined }),
    ),
    ` ${[...starts, `as of ${asOf.toISOString().replace('T', ' ')}`].join('    ')}`,
  ].join('\n')
}

function headline(
  { kind, state, queue, key, runAt, startedAt, finishedAt, createdAt }: Job,
  asOf: Date,
): string {
  const since = finishedAt ?? startedAt ?? (state === 'ready' ? runAt : createdAt)
  const parts = [
    paint({ text: oneLine(kind, 200), style: 'bold' }),
    `${state} ${span(asOf.getTime() - since.getTime())}`,
    `queue ${oneLine(queue, 200)}`,
    ...(key === null ? [] : [`key ${oneLine(key)}`]),
  ]
  return parts.join('  ')
}

export function whyTwicePage({ attempts }: WhyTwice, now: Date): string {
  if (attempts.length === 0) return 'it has not run yet'
  const heads = ['>EPOCH', '>ATTEMPT', 'CAUSE', 'BURNED', 'WHEN', 'WORKER', 'WHY']
  const rows = attempts.map(({ epoch, attempt, cause, burned, at, worker, says }) => [
    ...[String(epoch), String(attempt), cause, burned ? 'yes' : 'no'],
    ...[at === null ? '' : relative(at, now), worker ?? '', says],
  ])
  return table(heads, rows, { spare: ['WORKER'] })
}
