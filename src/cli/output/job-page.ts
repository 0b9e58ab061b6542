import type { Job } from '../../core/job.ts'
import { printable } from '../../core/json/printable.ts'
import type { Attempt } from '../../jobs/attempt/attempts.ts'
import type { LogLine } from '../../jobs/attempt/logs.ts'
import { moment, oneLine, paint, relative, span, stateText } from './format.ts'
import { facts, jsonText, table } from './output.ts'
import { when } from './job-table.ts'

/** The facts that the page of one job shows. */
export interface JobPageFacts {
  job: Job
  fingerprint?: string | null
  attempts: readonly Attempt[]
  /** The last lines of its log. */
  logs: readonly LogLine[]
}

export function jobPage({ job, fingerprint = null, attempts, logs }: JobPageFacts, now: Date): string {
  const parts = [headline(job, now), factsOf(job, fingerprint, now)]
  if (job.broken.length > 0)
    parts.push(oneLine(`This row has invalid values: ${job.broken.join(', ')}`, 1_000))
  const { percent, note } = job.progress ?? {}
  if (percent !== undefined) parts.push(section('progress', `${percent}%${note ? `  ${oneLine(note)}` : ''}`))
  parts.push(
    section(
      'input',
      job.inputBlob === null ? jsonText(job.input) : `in the blob store: ${oneLine(job.inputBlob, 500)}`,
    ),
  )
  if (job.result !== null && job.result !== undefined) parts.push(section('result', jsonText(job.result)))
  if (job.error !== null && job.error !== undefined) parts.push(section('error', errorText(job.error)))
  if (attempts.length > 0) parts.push(section('attempts', attemptTable(attempts, now)))
  if (logs.length > 0) parts.push(section('log', logs.map(logText).join('\n')))
  return parts.join('\n\n')
}

function headline(job: Job, now: Date): string {
  const why = job.reason === null ? '' : ` (${oneLine(job.reason)})`
  return `${paint({ text: oneLine(job.kind, 200), style: 'bold' })}  ${paint(stateText(job.state))}${why}  ${when(job, now)}`
}

function factsOf(job: Job, fingerprint: string | null, now: Date): string {
  const search = Object.entries(job.search).map(([name, value]) => `${name}:${value}`)
  const before = job.attemptsBefore > 0 ? `, ${job.attemptsBefore} of them before the last replay` : ''
  return facts([
    ['id', job.id],
    ['queue', job.queue],
    ['key', job.key],
    ['priority', String(job.priority)],
    ['attempt', `${job.attempt} of ${job.maxAttempts}${before}`],
    ['crashes', job.crashes === 0 ? null : String(job.crashes)],
    ['suspect', job.isSuspect ? 'its worker was lost while it ran; the job may have crashed it' : null],
    ['cancel requested', moment(job.cancelRequestedAt, now)],
    ['epoch', String(job.epoch)],
    ['version', String(job.version)],
    ['created', moment(job.createdAt, now)],
    ['due', moment(job.runAt, now)],
    ['started', moment(job.startedAt, now)],
    ['ended', moment(job.finishedAt, now)],
    ['deadline', moment(job.deadlineAt, now)],
    ['discarded', moment(job.discardedAt, now)],
    ['worker', job.workerId],
    ['search', search.join(' ')],
    ['correlation', job.correlationId === job.id ? null : job.correlationId],
    ['trace', job.traceparent],
    ['parent', job.parentId],
    ['flow', job.flowId],
    ['replaces', job.replaces],
    ['replaced by', job.replacedBy],
    ['fingerprint', fingerprint],
  ])
}

function section(name: string, text: string): string {
  const indented = text.split('\n').map((line) => `  ${line}`.trimEnd())
  return `${paint({ text: name, style: 'bold' })}\n${indented.join('\n')}`
}

/** The stack if there is one: it begins with name and message. */
function errorText(error: unknown): string {
  const { stack } = typeof error === 'object' && error !== null && 'stack' in error ? error : {}
  return typeof stack === 'string' ? printable(stack) : jsonText(error)
}

function attemptTable(attempts: readonly Attempt[], now: Date): string {
  const heads = ['>EPOCH', '>ATTEMPT', 'OUTCOME', '>TOOK', 'ENDED', 'WORKER', 'WHY']
  const rows = attempts.map((attempt) => [
    ...[String(attempt.epoch), String(attempt.attempt), attempt.outcome],
    attempt.startedAt === null ? '' : span(attempt.endedAt.getTime() - attempt.startedAt.getTime()),
    ...[relative(attempt.endedAt, now), attempt.workerId ?? '', attempt.reason ?? summary(attempt.error)],
  ])
  return table(heads, rows, { spare: ['WORKER', 'EPOCH', 'TOOK'], indent: 2 })
}

/** `CardDeclined: do not honor` */
export function summary(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { name, message } = error as { name?: unknown; message?: unknown }
  return oneLine([name, message].filter((part) => typeof part === 'string').join(': '))
}

function logText({ at, epoch, level, message, data }: LogLine): string {
  const time = at.toISOString().slice(11, 23)
  const extra = data === null || data === undefined ? '' : `  ${oneLine(JSON.stringify(data), 200)}`
  return `${time}  ${epoch}  ${level.padEnd(5)}  ${oneLine(message, 500)}${extra}`
}
