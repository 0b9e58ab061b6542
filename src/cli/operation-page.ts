import type { OperationInfo } from '../client/operations.ts'
import { diedAgain } from '../core/operation.ts'
import type { Fates } from '../core/operation.ts'
import { moment, relative } from './format.ts'
import { facts, table } from './output.ts'

/** `ramping  acted 69 of 112  skipped 1  failed 0` */
export function progressLine(operation: OperationInfo): string {
  const { id, state, acted, skipped, failed, matched, fates } = operation
  const counts = `acted ${acted}${matched === null ? '' : ` of ${matched}`}`
  const ends =
    fates === null ? '' : `  live ${fates.live}  succeeded ${fates.succeeded}  died again ${diedAgain(fates)}`
  return `operation ${id}  ${state}  ${counts}  skipped ${skipped}  failed ${failed}${ends}`
}

function fatesText({ live, succeeded, sameError, otherError, cancelled }: Fates): string {
  return [
    `${succeeded} succeeded`,
    `${live} still live`,
    `${sameError} died again with the same error`,
    `${otherError} died again with another`,
    ...(cancelled > 0 ? [`${cancelled} cancelled`] : []),
  ].join(', ')
}

/** For a person who is about to replay, or has replayed, jobs that ended their worker. */
export function crashWarning({ crashed, canary }: { crashed: number; canary: number }): string | null {
  if (crashed === 0) return null
  const tried = canary === 0 ? '' : ` ${canary} is tried first.`
  return `${crashed} of these jobs ended their worker process, and may do it again.${tried}`
}

export function operationFacts(operation: OperationInfo, now: Date): string {
  const { canaryResult: canary, skippedBy } = operation
  const skipped = Object.entries(skippedBy).map(([reason, count]) => `${count} ${reason}`)
  return facts([
    ['operation', operation.id],
    ['action', operation.action],
    ['state', operation.state],
    ['note', operation.note],
    ['warning', crashWarning(operation)],
    ['where', operation.where],
    ['ids', operation.ids === 0 ? null : String(operation.ids)],
    ['as of', moment(operation.asOf, now)],
    ['matched', operation.matched === null ? 'not known yet' : String(operation.matched)],
    ['acted', String(operation.acted)],
    [
      'skipped',
      skipped.length === 0 ? String(operation.skipped) : `${operation.skipped}: ${skipped.join(', ')}`,
    ],
    ['failed', String(operation.failed)],
    ['what became of them', operation.fates === null ? null : fatesText(operation.fates)],
    ['untouched', operation.untouched === null ? null : String(operation.untouched)],
    ['canary', operation.canary === 0 ? null : String(operation.canary)],
    [
      'canary so far',
      canary === null
        ? null
        : `${canary.decided} ended: ${canary.succeeded} succeeded, ${canary.failed} failed, ${canary.sameError} with the same error`,
    ],
    ['pace', operation.pace === null ? null : `${operation.pace} a second`],
    ['max', String(operation.max)],
    ['by', operation.actor],
    ['reason', operation.reason],
    ['started', moment(operation.startedAt, now)],
    ['finished', moment(operation.finishedAt, now)],
    ['job', operation.jobId],
    ['command', operation.cli],
  ])
}

export function operationTable(operations: readonly OperationInfo[], now: Date): string {
  const heads = [
    'ID',
    'ACTION',
    'STATE',
    '>MATCHED',
    '>ACTED',
    '>SKIPPED',
    '>FAILED',
    '>DIED AGAIN',
    'BY',
    'MADE',
    'REASON',
  ]
  const rows = operations.map((one) => [
    ...[one.id, one.action, one.state, one.matched === null ? '' : String(one.matched), String(one.acted)],
    ...[String(one.skipped), String(one.failed), one.fates === null ? '' : String(diedAgain(one.fates))],
    ...[one.actor, relative(one.createdAt, now), one.reason],
  ])
  return table(heads, rows, { spare: ['BY', 'SKIPPED', 'MADE', 'REASON', 'MATCHED'] })
}
