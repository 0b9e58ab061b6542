import type { PressureReport, PressureState } from '../../../limits/pressure/state.ts'
import { asTyped } from '../../actor.ts'
import { databaseHelp, parse } from '../../arguments.ts'
import { withStint } from '../../connect.ts'
import { moment, span } from '../../output/format.ts'
import { facts, formatHelp, isJson, say, sayJson } from '../../output/output.ts'
import { nameOf, options } from './arguments.ts'

const pressureHelp = `stint queue pressure NAME    how full a queue is, and whether it takes jobs

  --key KEY             of one key of the queue
${formatHelp}
${databaseHelp}

Examples
  stint queue pressure media
  stint queue pressure media --key acme -o json | jq .state`

export async function pressure(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { key: { type: 'string' }, ...options })
  if (values.help) return say(pressureHelp)
  const asJson = isJson(values.output)
  const name = nameOf(positionals)
  const { key } = values
  return show(await withStint(values, (stint) => stint.pressure(name, { key })), asJson)
}

const reasonOptions = { reason: { type: 'string' }, ...options } as const

const drainHelp = `stint queue drain NAME    close a queue for new jobs and let it run empty; its jobs go on, retries too

  --reason TEXT         why; those whose enqueues are refused see it
${formatHelp}
${databaseHelp}

Examples
  stint queue drain media --reason "moving to another cluster"
  stint queue pressure media`

export async function drain(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, reasonOptions)
  if (values.help) return say(drainHelp)
  const asJson = isJson(values.output)
  const name = nameOf(positionals)
  const { reason } = values
  return show(await withStint(values, (stint) => asTyped(stint).drainQueue(name, { reason })), asJson)
}

const openHelp = `stint queue open NAME    let a closed queue take jobs again

  --reason TEXT         why, for the audit
${formatHelp}
${databaseHelp}

Examples
  stint queue open media`

export async function open(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, reasonOptions)
  if (values.help) return say(openHelp)
  const asJson = isJson(values.output)
  const name = nameOf(positionals)
  const { reason } = values
  return show(await withStint(values, (stint) => asTyped(stint).openQueue(name, { reason })), asJson)
}

const styles: Readonly<Record<PressureState, 'green' | 'yellow' | 'red'>> = {
  open: 'green',
  warn: 'yellow',
  full: 'red',
  closed: 'yellow',
}

function show(report: PressureReport, asJson: boolean): number {
  if (asJson) return sayJson(report)
  const { queue, key, state, whenFull, isBroken, oldestMs, maxAgeMs, closedAt, closeReason, asOf } = report
  const now = new Date()
  return say(
    facts([
      ['queue', queue],
      ['key', key],
      ['state', { text: state, style: styles[state] }],
      ['depth', depthText(report)],
      [
        'oldest',
        oldestMs === null ? null : `${span(oldestMs)}${maxAgeMs === null ? '' : ` of ${span(maxAgeMs)}`}`,
      ],
      ['when full', isBroken ? { text: 'the stored rule is broken and ignored', style: 'red' } : whenFull],
      ['closed', closedAt === null ? null : moment(closedAt, now)],
      ['reason', closeReason],
      ['refused', report.refused === 0 ? null : count(report.refused)],
      ['counted', asOf === null ? null : moment(asOf, now)],
    ]),
  )
}

/** depth 9,800 of 10,000 */
function depthText({ depth, maxDepth, isEstimate }: PressureReport): string {
  if (depth === null) return 'not counted'
  return `${isEstimate ? '≈' : ''}${count(depth)}${maxDepth === null ? '' : ` of ${count(maxDepth)}`}`
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}
