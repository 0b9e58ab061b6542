import { diedAgain, hasEndedBadly, stateOfOperation } from '../../core/operation.ts'
import type { Operation } from '../../core/operation.ts'
import { moment, relative } from './format.ts'
import { facts, table } from './output.ts'
import type { Cell } from './output.ts'

/** `ramping  acted 69 of 112  skipped 1  failed 0` */
export function progressLine(operation: Operation): string {
  const { id, state, acted, skipped, failed, matched, fates } = operation
  const counts = `acted ${acted}${matched === null ? '' : ` of ${matched}`}`
  const ends =
    fates === null ? '' : `  live ${fates.live}  succeeded ${fates.succeeded}  died again ${diedAgain(fates)}`
  return `operation ${id}  ${state}  ${counts}  skipped ${skipped}  failed ${failed}${ends}`
}

/** What the jobs that were acted on came to, under `acted`. */
function fateFacts({ fates, finishedAt }: Operation): [name: string, value: Cell][] {
  if (fates === null) return []
  const { live, succeeded, sameError, otherError, cancelled } = fates
  const dead = diedAgain(fates)
  const errors = `${dead}: ${sameError} with the same error, ${otherError} with another`
  return [
    ['  succeeded', String(succeeded)],
    [finishedAt === null ? '  still live' : '  had not ended', String(live)],
    ['  died again', dead === 0 ? '0' : { text: errors, style: 'red' }],
    ...(cancelled === 0 ? [] : [['  cancelled', String(cancelled)] satisfies [string, Cell]]),
  ]
}

function inStateColor(text: string, operation: Operation): Cell {
  return { text, style: hasEndedBadly(operation) ? 'red' : undefined }
}

/** For a person who is about to replay jobs that crashed their worker. */
export function crashWarning({ crashed, canary }: { crashed: number; canary: number }): Cell | null {
  if (crashed === 0) return null
  const tried = canary === 0 ? '' : ` ${canary} tried first.`
  return { text: `${crashed} of these jobs crashed a worker and may do so again.${tried}`, style: 'yellow' }
}

export function operationFacts(operation: Operation, now: Date): string {
  const { canaryResult: canary, skippedBy } = operation
  const skipped = Object.entries(skippedBy).map(([reason, count]) => `${count} ${reason}`)
  return facts([
    ['operation', operation.id],
    ['action', operation.action],
    ['state', inStateColor(stateOfOperation(operation), operation)],
    ['note', operation.note],
    ['warning', operation.finishedAt === null ? crashWarning(operation) : null],
    ['where', operation.where],
    ['ids', operation.ids === 0 ? null : String(operation.ids)],
    ['as of', moment(operation.frozenAt, now)],
    ['matched', operation.matched === null ? 'not known yet' : String(operation.matched)],
    ['acted', String(operation.acted)],
    ...fateFacts(operation),
    [
      'skipped',
      skipped.length === 0 ? String(operation.skipped) : `${operation.skipped}: ${skipped.join(', ')}`,
    ],
    ['failed', String(operation.failed)],
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

export function operationTable(operations: readonly Operation[], now: Date): string {
  const heads = [
    'ID',
    'ACTION',
    'STATE',
    '>MATCHED',
    '>ACTED',
    '>SKIPPED',
    '>FAILED',
    '>DIED',
    'BY',
    'MADE',
    'REASON',
  ]
  const rows = operations.map((one) => [
    ...[
      one.id,
      one.action,
      inStateColor(one.state, one),
      one.matched === null ? '' : String(one.matched),
      String(one.acted),
    ],
    ...[String(one.skipped), String(one.failed), one.fates === null ? '' : String(diedAgain(one.fates))],
    ...[one.actor, relative(one.createdAt, now), one.reason],
  ])
  return table(heads, rows, { spare: ['BY', 'SKIPPED', 'MADE', 'REASON', 'MATCHED'] })
}
