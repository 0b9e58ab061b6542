import type { Fire, ScheduleDetails, ScheduleInfo } from '../../schedules/read.ts'
import { moment, relative, span } from './format.ts'
import type { Styled } from './format.ts'
import { facts, say, sayJson, table } from './output.ts'

export function scheduleTable(schedules: readonly ScheduleInfo[], now: Date): string {
  const heads = ['NAME', 'RULE', 'KIND', 'QUEUE', 'NEXT', 'LAST', 'OVERLAP', 'MISSED', 'SOURCE']
  const rows = schedules.map((one) => [
    ...[one.name, one.rule, one.kind, one.queue],
    nextText(one, now),
    one.lastFireAt === null ? '' : `${one.lastOutcome ?? ''} ${relative(one.lastFireAt, now)}`,
    ...[one.overlap, one.missed.policy],
    `${one.source}${one.appVersion === null ? '' : ` ${one.appVersion}`}`,
  ])
  return table(heads, rows, { spare: ['SOURCE', 'MISSED', 'OVERLAP', 'QUEUE'] })
}

/** Shows one schedule, as text or as JSON. */
export function showSchedule(found: ScheduleDetails, asJson: boolean): number {
  return asJson ? sayJson(found) : say(detailsText(found, new Date()))
}

export function detailsText(one: ScheduleDetails, now: Date): string {
  return facts([
    ['name', one.name],
    ['rule', one.rule],
    ['kind', one.kind],
    ['queue', one.queue],
    [
      'next',
      one.isPaused || one.isOrphan || one.invalid !== null ? nextText(one, now) : moment(one.nextFireAt, now),
    ],
    ['paused for', one.pauseReason],
    ['starts', moment(one.startsAt, now)],
    ['ends', moment(one.endsAt, now)],
    ['overlap', one.overlap],
    ['missed', missedText(one.missed)],
    ['jitter', one.jitterMs === 0 ? null : span(one.jitterMs)],
    ['history', `kept for ${span(one.keepFiresMs)}`],
    ['source', `${one.source}${one.appVersion === null ? '' : `, version ${one.appVersion}`}`],
    ['input', one.inputFromCode ? 'made by code' : JSON.stringify(one.input)],
    ['asked for', one.askedFires === 0 ? null : waitingText(one)],
    ['changed', moment(one.updatedAt, now)],
    ['error', one.invalid ?? one.lastError],
  ])
}

function nextText(one: ScheduleInfo, now: Date): Styled | string {
  if (one.isPaused)
    return {
      text: one.pausedUntil === null ? 'paused' : `paused, ${relative(one.pausedUntil, now)} on`,
      style: 'yellow',
    }
  if (one.isOrphan) return { text: 'never: no live worker has it in its code', style: 'red' }
  if (one.invalid !== null) return { text: 'never: it is not valid', style: 'red' }
  if (one.failures > 0) return { text: `fails, ${one.failures} times`, style: 'red' }
  return one.nextFireAt === null ? 'never' : relative(one.nextFireAt, now)
}

/** Shown after a command that asked for fires of a schedule whose input is made by code. */
export function askedText(fires: number, schedule: ScheduleDetails | undefined): string {
  const next =
    schedule?.isOrphan === true
      ? "no live worker has this schedule's code: start one that has it"
      : `a worker that has this schedule's code stores the ${fires === 1 ? 'job' : 'jobs'}`
  return `asked for ${firesText(fires)}; ${next}`
}

function waitingText({ askedFires, isOrphan }: ScheduleDetails): Styled | string {
  if (isOrphan) return { text: `${firesText(askedFires)}: no live worker has its code`, style: 'red' }
  return `${firesText(askedFires)} for a worker that has its code`
}

function firesText(fires: number): string {
  return fires === 1 ? '1 fire' : `${fires} fires`
}

function missedText({ policy, limit, windowMs }: ScheduleInfo['missed']): string {
  return `${policy}${policy === 'all' ? ` up to ${limit}` : ''}, within ${span(windowMs)}`
}

export function fireTable(fires: readonly Fire[], now: Date): string {
  const rows = fires.map(({ fireAt, outcome, jobId, reason }) => [
    ...[moment(fireAt, now), outcome, jobId ?? '', reason ?? ''],
  ])
  return table(['FIRE', 'OUTCOME', 'JOB', 'WHY'], rows, { spare: ['WHY'] })
}
