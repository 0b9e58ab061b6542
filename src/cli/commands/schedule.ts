import { defineJob } from '../../contracts/define-job.ts'
import type { JobContract } from '../../contracts/contract.ts'
import { StintError } from '../../core/errors.ts'
import { changed } from '../../schedules/definition.ts'
import type { ScheduleChanges } from '../../schedules/definition.ts'
import { missedPolicies, overlapPolicies } from '../../schedules/define-schedule.ts'
import type { ScheduleDefinition } from '../../schedules/define-schedule.ts'
import type { Fire, ScheduleDetails, ScheduleInfo } from '../../schedules/read.ts'
import { asTyped } from '../actor.ts'
import {
  choose,
  databaseHelp,
  databaseOptions,
  helpOption,
  noMore,
  parse,
  UsageError,
  wholeNumber,
} from '../arguments.ts'
import { withStint } from '../connect.ts'
import { moment, relative, span } from '../format.ts'
import type { Styled } from '../format.ts'
import { facts, formatHelp, isJson, note, outputOption, say, sayJson, table } from '../output.ts'
import { nounOf } from '../verbs.ts'

const help = `stint schedule list        rules by which jobs come into being, and when each fires next
stint schedule get         all that is known of one, with its last fires and why some did not fire
stint schedule next        its next times, clock changes marked
stint schedule set         store one, new or changed
stint schedule run         make a job of it now
stint schedule pause       no fires until a time, or until it is resumed
stint schedule resume      and on
stint schedule backfill    make up for the times of a range
stint schedule delete      forget it

stint schedule <command> --help has options and examples.`

const common = { ...outputOption, ...databaseOptions, ...helpOption } as const
const reasonOption = { reason: { type: 'string' } } as const
const reasonHelp = `  --reason TEXT         why, for the audit`

function onlyName([name, ...more]: readonly string[]): string {
  if (name === undefined) throw new UsageError('Say which schedule, by its name.')
  noMore(more)
  return name
}

const listHelp = `stint schedule list    schedules by name, and when each fires next

${formatHelp}
${databaseHelp}

Examples
  stint schedule list
  stint schedule list -o json | jq '.[] | select(.isOrphan)'`

async function list(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, common)
  if (values.help) return say(listHelp)
  noMore(positionals)
  const asJson = isJson(values.output)
  const found = await withStint(values, (stint) => stint.schedules.list({ limit: 1_000 }))
  if (asJson) return sayJson(found)
  if (found.length === 0) note('no schedules')
  else say(scheduleTable(found, new Date()))
  return 0
}

function scheduleTable(schedules: readonly ScheduleInfo[], now: Date): string {
  const heads = ['NAME', 'RULE', 'KIND', 'QUEUE', 'NEXT', 'LAST', 'OVERLAP', 'MISSED', 'SOURCE']
  const rows = schedules.map((one) => [
    ...[one.name, one.rule, one.kind, one.queue],
    nextText(one, now),
    one.lastFireAt === null ? '' : `${one.lastOutcome ?? ''} ${relative(one.lastFireAt, now)}`,
    ...[one.overlap, one.missed.policy],
    `${one.source}${one.appVersion === null ? '' : ` ${one.appVersion}`}`,
  ])
  return table(heads, rows)
}

function nextText(one: ScheduleInfo, now: Date): Styled | string {
  if (one.isPaused)
    return {
      text: one.pausedUntil === null ? 'paused' : `paused, ${relative(one.pausedUntil, now)} on`,
      style: 'yellow',
    }
  if (one.isOrphan) return { text: 'never: no live worker has it', style: 'red' }
  if (one.failures > 0) return { text: `fails, ${one.failures} times`, style: 'red' }
  return one.nextFireAt === null ? 'never' : relative(one.nextFireAt, now)
}

const getHelp = `stint schedule get NAME    all that is known of one schedule, with its last fires

  --fires N             fires, 1 to 1,000 (default: 20)
${formatHelp}
${databaseHelp}

Examples
  stint schedule get nightly-report
  stint schedule get nightly-report --fires 200 -o json`

async function get(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { fires: { type: 'string', default: '20' }, ...common })
  if (values.help) return say(getHelp)
  const name = onlyName(positionals)
  const limit = wholeNumber('--fires', values.fires)
  const asJson = isJson(values.output)
  return withStint(values, async (stint) => {
    const found = await stint.schedules.get(name)
    if (found === undefined) throw new StintError('schedule-not-found', `There is no schedule '${name}'.`)
    const fires = await stint.schedules.fires(name, { limit })
    if (asJson) return sayJson({ ...found, fires })
    say(detailsText(found, new Date()))
    if (fires.length > 0) say(`\n${fireTable(fires, new Date())}`)
    return 0
  })
}

function detailsText(one: ScheduleDetails, now: Date): string {
  return facts([
    ['name', one.name],
    ['rule', one.rule],
    ['kind', one.kind],
    ['queue', one.queue],
    ['next', one.isPaused || one.isOrphan ? nextText(one, now) : moment(one.nextFireAt, now)],
    ['paused for', one.pauseReason],
    ['starts', moment(one.startsAt, now)],
    ['ends', moment(one.endsAt, now)],
    ['overlap', one.overlap],
    ['missed', missedText(one.missed)],
    ['jitter', one.jitterMs === 0 ? null : span(one.jitterMs)],
    ['history', `kept for ${span(one.keepFiresMs)}`],
    ['source', `${one.source}${one.appVersion === null ? '' : `, version ${one.appVersion}`}`],
    ['input', one.inputFromCode ? 'made by code' : JSON.stringify(one.input)],
    ['changed', moment(one.updatedAt, now)],
    ['error', one.lastError],
  ])
}

function missedText({ policy, limit, windowMs }: ScheduleInfo['missed']): string {
  return `${policy}${policy === 'all' ? ` up to ${limit}` : ''}, within ${span(windowMs)}`
}

function fireTable(fires: readonly Fire[], now: Date): string {
  const rows = fires.map(({ fireAt, outcome, jobId, reason }) => [
    ...[moment(fireAt, now), outcome, jobId ?? '', reason ?? ''],
  ])
  return table(['FIRE', 'OUTCOME', 'JOB', 'WHY'], rows)
}

const nextHelp = `stint schedule next NAME    its next times; those that a clock change moves are marked

  -n, --count N         how many, 1 to 1,000 (default: 5)
${formatHelp}
${databaseHelp}

Examples
  stint schedule next nightly-report
  stint schedule next nightly-report -n 400 | grep -E 'gap|overlap'`

async function next(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    count: { type: 'string', short: 'n', default: '5' },
    ...common,
  })
  if (values.help) return say(nextHelp)
  const name = onlyName(positionals)
  const count = wholeNumber('--count', values.count)
  const asJson = isJson(values.output)
  return withStint(values, async (stint) => {
    const times = await stint.schedules.next(name, count)
    if (asJson) return sayJson(times)
    if (times.length === 0) note('it does not fire any more, or is paused')
    for (const { at, shift } of times) say(`${moment(at, new Date())}${shift === null ? '' : `  ${shift}`}`)
    return 0
  })
}

const setHelp = `stint schedule set NAME    store a schedule, new or changed; a changed one counts from now on

Of one that is stored, what is not given stays as it is; the defaults are for a new one, which needs --kind and a rule.

  --kind KIND           of its jobs
  --queue NAME          their queue (default: default)
  --cron EXPRESSION     5 fields, or 6 with seconds in front
  --every DURATION      instead: a fixed interval, 15m
  --time-zone ZONE      for --cron: Europe/Rome (default: UTC)
  --input JSON          what its jobs carry (default: null)
  --priority N          of its jobs, -100 to 100; --priority=-5
  --attempts N          of its jobs (default: 5)
  --overlap POLICY      ${overlapPolicies.join(', ')} (default: allow)
  --missed POLICY       ${missedPolicies.join(', ')} (default: once)
  --missed-limit N      with all: the latest so many, 1 to 1000 (default: 100)
  --missed-window D     what is longer ago is not made up for, up to 366d (default: 24h)
  --jitter DURATION     spread its jobs over this span
  --keep-fires DURATION how long its history is kept, 1d to 3660d (default: 30d)
  --starts-at TIME      nothing before: 2030-01-31T09:00:00Z, or none
  --ends-at TIME        nothing after, or none
${formatHelp}
${databaseHelp}

The contract is not known here, so the input is not checked against it, and what the contract made of the one before (key,
unique key, search words) stays with another. A schedule that workers have in their code is
restored by the next of them that starts.

Examples
  stint schedule set nightly-report --kind report.send --cron '0 2 * * *' --time-zone Europe/Rome --input '{"to":"ana"}'
  stint schedule set sweep --kind cache.sweep --every 15m --overlap skip
  stint schedule set nightly-report --cron '0 3 * * *'`

async function set(args: readonly string[]): Promise<number> {
  const text = { type: 'string' } as const
  const { values, positionals } = parse(args, {
    ...{ kind: text, queue: text, cron: text, every: text, 'time-zone': text, input: text, priority: text },
    ...{ attempts: text, overlap: text, missed: text, jitter: text, 'starts-at': text, 'ends-at': text },
    ...{ 'keep-fires': text, 'missed-limit': text, 'missed-window': text },
    ...common,
  })
  if (values.help) return say(setHelp)
  const name = onlyName(positionals)
  const { kind, queue, cron, every, jitter, 'missed-limit': missedLimit } = values
  const asJson = isJson(values.output)
  const changes: ScheduleChanges = {
    ...{ cron, every, jitter },
    timeZone: values['time-zone'],
    input: values.input === undefined ? undefined : jsonOf(values.input),
    options: {
      queue,
      priority: values.priority === undefined ? undefined : Number(values.priority),
      attempts: values.attempts === undefined ? undefined : wholeNumber('--attempts', values.attempts),
    },
    overlap: values.overlap === undefined ? undefined : choose('overlap', values.overlap, overlapPolicies),
    missed: {
      policy: values.missed === undefined ? undefined : choose('missed', values.missed, missedPolicies),
      limit: missedLimit === undefined ? undefined : wholeNumber('--missed-limit', missedLimit),
      window: values['missed-window'],
    },
    keepFires: values['keep-fires'],
    startsAt: values['starts-at'] === 'none' ? null : values['starts-at'],
    endsAt: values['ends-at'] === 'none' ? null : values['ends-at'],
  }
  return withStint(values, async (stint) => {
    const before = await stint.schedules.get(name)
    if (before?.inputFromCode === true && values.input === undefined)
      throw new UsageError(
        `The input of '${name}' is made by code, which is not known here: give one, --input.`,
      )
    if (before?.source === 'code' && !before.isOrphan)
      note(`'${name}' is in the code of live workers: the next one that starts restores it`)
    const stored = await stint.schedules.definition(name)
    const job = contractOf(kind, stored)
    return show(await stint.schedules.set(changed({ ...stored, name, job }, changes)), asJson)
  })
}

/** The stored one knows more than a kind: its version, its unique rule. */
function contractOf(kind: string | undefined, stored: ScheduleDefinition | undefined): JobContract {
  if (stored !== undefined && (kind === undefined || kind === stored.job.kind)) return stored.job
  if (kind === undefined) throw new UsageError('It is a new schedule: say the kind of its jobs, --kind.')
  return defineJob({ kind, queue: stored?.job.queue })
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new UsageError(`Expected --input to be JSON, got '${text}'.`)
  }
}

function show(found: ScheduleDetails, asJson: boolean): number {
  return asJson ? sayJson(found) : say(detailsText(found, new Date()))
}

const runHelp = `stint schedule run NAME    make a job of it now, whatever its times and the jobs before it; prints the job's id

${reasonHelp}
${formatHelp}
${databaseHelp}

Examples
  stint schedule run nightly-report
  stint job get $(stint schedule run nightly-report)`

async function runNow(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { ...reasonOption, ...common })
  if (values.help) return say(runHelp)
  const name = onlyName(positionals)
  const asJson = isJson(values.output)
  const made = await withStint(values, (stint) => asTyped(stint).schedules.run(name, values))
  return asJson ? sayJson(made) : say(made.jobId)
}

const pauseHelp = `stint schedule pause NAME    no fires until a time, or until it is resumed; what is left out is not made up for

  --for DURATION        this long: 2h
  --until TIME          until then: 2030-01-31T09:00:00Z
  --reason TEXT         why, kept with it
${formatHelp}
${databaseHelp}

Examples
  stint schedule pause nightly-report --for 2h --reason "moving the warehouse"
  stint schedule pause nightly-report`

async function pause(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    ...{ for: { type: 'string' }, until: { type: 'string' }, reason: { type: 'string' } },
    ...common,
  })
  if (values.help) return say(pauseHelp)
  const name = onlyName(positionals)
  const asJson = isJson(values.output)
  const { for: span, until, reason } = values
  return show(
    await withStint(values, (stint) => asTyped(stint).schedules.pause(name, { for: span, until, reason })),
    asJson,
  )
}

const resumeHelp = `stint schedule resume NAME    let a paused schedule go on, from now

${reasonHelp}
${formatHelp}
${databaseHelp}

Examples
  stint schedule resume nightly-report
  stint schedule resume nightly-report -o json`

async function resume(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { ...reasonOption, ...common })
  if (values.help) return say(resumeHelp)
  const name = onlyName(positionals)
  const asJson = isJson(values.output)
  return show(await withStint(values, (stint) => asTyped(stint).schedules.resume(name, values)), asJson)
}

const backfillHelp = `stint schedule backfill NAME    make up for the times of a range: those that were missed, skipped or never decided

What fired does not fire again. At most 1,000 times. Look first, with --dry-run.

  --from TIME           from then on: 2026-03-27T00:00:00Z
  --to TIME             to then, not in the future
${reasonHelp}
  --dry-run             say what would be done, and do nothing
${formatHelp}
${databaseHelp}

Examples
  stint schedule backfill nightly-report --from 2026-03-27T00:00:00Z --to 2026-03-29T23:00:00Z --dry-run
  stint schedule backfill nightly-report --from 2026-03-27T00:00:00Z --to 2026-03-29T23:00:00Z`

async function backfill(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    ...{ from: { type: 'string' }, to: { type: 'string' } },
    ...{ 'dry-run': { type: 'boolean', default: false } },
    ...reasonOption,
    ...common,
  })
  if (values.help) return say(backfillHelp)
  const name = onlyName(positionals)
  const { from, to, reason, 'dry-run': dryRun } = values
  if (from === undefined || to === undefined) throw new UsageError('Say the range: --from and --to.')
  const asJson = isJson(values.output)
  const plan = await withStint(values, (stint) =>
    dryRun
      ? stint.schedules.backfill(name, { from, to, dryRun })
      : asTyped(stint).schedules.backfill(name, { from, to, reason }),
  )
  if (asJson) return sayJson(plan)
  const rows = plan.map(({ fireAt, action, before, jobId }) => [
    ...[moment(fireAt, new Date()), action, before ?? '', jobId ?? ''],
  ])
  if (rows.length > 0) say(table(['FIRE', 'ACTION', 'BEFORE', 'JOB'], rows))
  const made = plan.filter(({ action }) => action === 'fired').length
  note(dryRun ? `${made} of ${plan.length} would fire` : `${made} of ${plan.length} fired`)
  return 0
}

const deleteHelp = `stint schedule delete NAME    forget a schedule and its fires; its jobs stay

One that live workers have in their code is refused: remove it there, or pause it.

${reasonHelp}
${databaseHelp}

Examples
  stint schedule delete nightly-report
  stint schedule delete nightly-report --schema other`

async function remove(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { ...reasonOption, ...databaseOptions, ...helpOption })
  if (values.help) return say(deleteHelp)
  const name = onlyName(positionals)
  await withStint(values, (stint) => asTyped(stint).schedules.delete(name, values))
  note(`'${name}' is gone`)
  return 0
}

export const schedule = nounOf(help, {
  ...{ list, get, next, set, run: runNow, pause, resume, backfill, delete: remove },
})
