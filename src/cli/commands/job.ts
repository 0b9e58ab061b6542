import { readFileSync } from 'node:fs'
import { resolve as resolvePath } from 'node:path'
import type { JobContract } from '../../contracts/contract.ts'
import { checkInput, maxInputBytes } from '../../contracts/input.ts'
import { jobStates } from '../../core/job.ts'
import type { Job, JobSummary } from '../../core/job.ts'
import { messageOf, peek } from '../../core/failures/thrown.ts'
import type { SearchPage } from '../../jobs/search/search.ts'
import { loadFile } from '../../node/load-file.ts'
import { actOn, checkedIds, findJob } from '../act.ts'
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
import { jobPage } from '../output/job-page.ts'
import { jobTable } from '../output/job-table.ts'
import { lastLogs } from '../output/last-logs.ts'
import { bulkHelp, bulkOptions, operate } from '../operate.ts'
import { note, outputHelp, outputOf, outputOption, say, sayJson } from '../output/output.ts'
import { nounOf } from '../verbs.ts'
import { discard, replay, restore } from './dead.ts'
import { resume } from './job-resume.ts'
import { signal } from './job-signal.ts'
import { steps } from './job-steps.ts'
import { why, whyTwice } from './job-why.ts'

const help = `stint job list          jobs, newest first
stint job get           details of one job
stint job why           why a job does not run
stint job why-twice     why a job ran more than once
stint job steps         the steps of a job, and what each returned
stint job resume        let parked jobs run: their handlers ask for other steps than are recorded
stint job signal        send a signal to a job that waits for it
stint job cancel        cancel jobs; running jobs are asked to stop
stint job run-now       run scheduled and retrying jobs now
stint job reschedule    move waiting jobs to another time
stint job reprioritize  change the priority of jobs
stint job replay|discard|restore    the same as stint dead
stint job edit          replay a dead letter with another input, as a new job

stint job <command> --help has options and examples.`

const listHelp = `stint job list    live and finished jobs, newest first

  --queue NAME          of this queue
  --kind NAME           of this kind
  --state STATE         in this state; may be given more than once
  --key KEY             with this key
  --where FILTER        a filter, instead of the options above: 'state:dead kind:charge.* error:b02c age>1h input.country:BR'
  --limit N             jobs per page, 1 to 200 (default: 50)
  --cursor ID           continue after the page that printed this cursor
${outputHelp}
${databaseHelp}

States: ${jobStates.join(', ')}.
A call reads at most 50,000 jobs; a page may be empty and still have a cursor to continue with.
Filters: id state queue kind key error worker correlation reason priority flow waiting age> age< input.<name> is:discarded
is:replaced. A job must match all filters; commas separate alternative values; quote a value with spaces.

Examples
  stint job list --queue mail --state ready --state retrying
  stint job list --where 'state:dead key:"acme, inc" age>1h'
  stint job list --kind card.charge --key acme -o json`

async function list(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    queue: { type: 'string' },
    kind: { type: 'string' },
    key: { type: 'string' },
    state: { type: 'string', multiple: true },
    limit: { type: 'string' },
    cursor: { type: 'string' },
    where: { type: 'string' },
    ...outputOption,
    ...databaseOptions,
    ...helpOption,
  })
  if (values.help) return say(listHelp)
  noMore(positionals)
  const output = outputOf(values.output)
  const { queue, kind, key, cursor } = values
  const state = values.state?.map((word) => choose('state', word, jobStates))
  const limit = values.limit === undefined ? undefined : wholeNumber('--limit', values.limit)
  const { where } = values
  const hasOthers = [queue, kind, key, state].some((value) => value !== undefined)
  if (where !== undefined && hasOthers)
    throw new UsageError('Use either --where, or --queue, --kind, --state and --key.')
  const page: Pick<SearchPage, 'next'> & { jobs: readonly JobSummary[] } = await withStint(values, (stint) =>
    where === undefined
      ? stint.list({ queue, kind, key, state, limit, cursor })
      : stint.search({ where, limit, cursor }),
  )
  if (output === 'json') return sayJson(page)
  if (output === 'id') for (const { id } of page.jobs) say(id)
  else if (page.jobs.length > 0) say(jobTable(page.jobs, new Date()))
  if (page.jobs.length === 0)
    note(page.next === undefined ? 'no jobs' : 'no match in the rows searched so far')
  if (page.next !== undefined) note(`more: --cursor ${page.next}`)
  return 0
}

const getHelp = `stint job get ID    details of one job: input, attempts, last log lines

  --logs N              lines of log, 0 to 1,000 (default: 10)
${outputHelp}
${databaseHelp}

Examples
  stint job get 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4
  stint job get 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --logs 100 -o json`

async function get(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    logs: { type: 'string', default: '10' },
    ...outputOption,
    ...databaseOptions,
    ...helpOption,
  })
  if (values.help) return say(getHelp)
  const output = outputOf(values.output)
  const limit = wholeNumber('--logs', values.logs)
  const [id = '', ...more] = checkedIds(positionals)
  noMore(more)
  return withStint(values, async (stint) => {
    const job = await findJob(stint, id)
    if (output === 'id') return say(job.id)
    const found = { attempts: await stint.attempts(id), logs: await lastLogs(stint, id, limit) }
    return output === 'json' ? sayJson({ ...job, ...found }) : say(jobPage({ job, ...found }, new Date()))
  })
}

const actOptions = {
  'dry-run': { type: 'boolean', default: false },
  ...bulkOptions,
  ...outputOption,
  ...databaseOptions,
  ...helpOption,
} as const

const cancelHelp = `stint job cancel ID…          cancel jobs; running jobs are asked to stop. Can be repeated safely
stint job cancel --where …    all jobs that match a filter, as an operation

This cannot be undone. Use --dry-run to see what would be cancelled.

${bulkHelp}
  --wait TIME           with ids: how long to wait until running jobs have ended: 30s (default: do not wait)
  --dry-run             show what would be done, without doing it
${outputHelp}
${databaseHelp}

Examples
  stint job cancel 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --reason "customer left"
  stint job cancel --where 'queue:mail state:scheduled' --dry-run`

async function cancel(args: readonly string[]): Promise<number> {
  const { values, positionals: ids } = parse(args, { wait: { type: 'string' }, ...actOptions })
  if (values.help) return say(cancelHelp)
  const { reason, wait, where, 'dry-run': isDryRun } = values
  const output = outputOf(values.output)
  return withStint(values, (stint) => {
    if (where !== undefined)
      return operate(stint, { action: 'cancel', where: alone(where, ids), output }, values)
    return actOn(stint, {
      ids,
      output,
      isDryRun,
      done: 'cancelled',
      act: (id) => asTyped(stint).cancel(id, { reason, wait: wait }),
      whyNot: whyNotCancel,
    })
  })
}

function whyNotCancel({ state }: Job): string | undefined {
  const isDone = state === 'succeeded' || state === 'dead'
  return isDone ? `is ${state}, so it cannot be cancelled` : undefined
}

const runNowHelp = `stint job run-now ID…          run scheduled and retrying jobs now
stint job run-now --where …    all jobs that match a filter, as an operation

${bulkHelp}
  --dry-run             show what would be done, without doing it
${outputHelp}
${databaseHelp}

Examples
  stint job run-now 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4
  stint job run-now --where 'state:retrying queue:mail' --reason "the provider is back" --pace 20/s`

async function runNow(args: readonly string[]): Promise<number> {
  const { values, positionals: ids } = parse(args, actOptions)
  if (values.help) return say(runNowHelp)
  const { reason, where, 'dry-run': isDryRun } = values
  const output = outputOf(values.output)
  return withStint(values, (stint) => {
    if (where !== undefined)
      return operate(stint, { action: 'run-now', where: alone(where, ids), output }, values)
    const act = (id: string): Promise<Job> => asTyped(stint).runNow(id, { reason })
    return actOn(stint, { ids, output, isDryRun, done: 'made ready', act, whyNot: whyNotMove })
  })
}

const rescheduleHelp = `stint job reschedule ID…    move scheduled, retrying or ready jobs to another time

  --at TIME             2026-11-16T10:00:00Z
  --delay DURATION      or a delay from now: 30s, 5m, 2h
  --reason TEXT         why, for the audit
  --dry-run             show what would be done, without doing it
${outputHelp}
${databaseHelp}

Examples
  stint job reschedule 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --delay 1h
  stint job reschedule 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --at 2026-11-17T06:00:00Z`

async function reschedule(args: readonly string[]): Promise<number> {
  const { values, positionals: ids } = parse(args, {
    at: { type: 'string' },
    delay: { type: 'string' },
    reason: { type: 'string' },
    'dry-run': { type: 'boolean', default: false },
    ...outputOption,
    ...databaseOptions,
    ...helpOption,
  })
  if (values.help) return say(rescheduleHelp)
  const { at, delay, reason, 'dry-run': isDryRun } = values
  if ((at === undefined) === (delay === undefined)) throw new UsageError('Pass either --at or --delay.')
  const when = at === undefined ? { delay: delay ?? '' } : { runAt: at }
  const output = outputOf(values.output)
  return withStint(values, (stint) =>
    actOn(stint, {
      ids,
      output,
      isDryRun,
      done: 'moved',
      act: (id) => asTyped(stint).reschedule(id, { ...when, reason }),
      whyNot: whyNotMove,
    }),
  )
}

function whyNotMove({ state }: Job): string | undefined {
  const canMove = state === 'scheduled' || state === 'ready' || state === 'retrying'
  return canMove ? undefined : `is ${state}, so it cannot be moved to another time`
}

const reprioritizeHelp = `stint job reprioritize ID…          change the priority of jobs
stint job reprioritize --where …    all jobs that match a filter, as an operation

  --priority N          -100 to 100; higher numbers run first
${bulkHelp}
  --dry-run             show what would be done, without doing it
${outputHelp}
${databaseHelp}

Examples
  stint job reprioritize 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --priority 10
  stint job reprioritize --where 'key:acme' --priority=-5 --reason "bulk import"`

async function reprioritize(args: readonly string[]): Promise<number> {
  const { values, positionals: ids } = parse(args, { priority: { type: 'string' }, ...actOptions })
  if (values.help) return say(reprioritizeHelp)
  const { reason, where, priority: text, 'dry-run': isDryRun } = values
  if (text === undefined || !/^-?\d{1,3}$/.test(text))
    throw new UsageError('Pass --priority, a number from -100 to 100.')
  const priority = Number(text)
  const output = outputOf(values.output)
  return withStint(values, (stint) => {
    if (where !== undefined)
      return operate(stint, { action: 'reprioritize', where: alone(where, ids), priority, output }, values)
    const act = (id: string): Promise<Job> => asTyped(stint).reprioritize(id, { priority, reason })
    return actOn(stint, { ids, output, isDryRun, done: 'moved', act, whyNot: whyNotReprioritize })
  })
}

function whyNotReprioritize({ state, finishedAt }: Job): string | undefined {
  return state === 'running' || finishedAt !== null ? `is ${state}` : undefined
}

const editHelp = `stint job edit ID    replay a dead letter with another input, as a new job; the dead letter gets its id as replacedBy

  --input FILE          JSON, or - for standard input
  --contracts FILE      a TypeScript or JavaScript file that exports the contract of this kind; it checks the input
  --reason TEXT         why, for the audit
  --dry-run             only check the input
${outputHelp}
${databaseHelp}

Examples
  stint job edit 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --input fixed.json --contracts src/contracts.ts --reason "typo"
  stint job get 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 -o json | jq .input > fixed.json`

async function edit(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    input: { type: 'string' },
    contracts: { type: 'string' },
    reason: { type: 'string' },
    'dry-run': { type: 'boolean', default: false },
    ...outputOption,
    ...databaseOptions,
    ...helpOption,
  })
  if (values.help) return say(editHelp)
  const [id = '', ...more] = checkedIds(positionals)
  noMore(more)
  const { input: inputFile, contracts: file, reason } = values
  if (inputFile === undefined || file === undefined || reason === undefined)
    throw new UsageError('Pass --input, --contracts and --reason.')
  const input = jsonIn(inputFile)
  const loaded = await loadFile(resolvePath(file))
  return withStint(values, async (stint) => {
    const { kind } = await findJob(stint, id)
    const contract = contractIn(loaded, kind)
    if (values['dry-run']) {
      await checkInput(contract, input, maxInputBytes)
      note('the input matches its contract')
      return 0
    }
    const job = await asTyped(stint).editAndReplay(id, { contract, input, reason })
    const output = outputOf(values.output)
    if (output === 'json') return sayJson(job)
    return say(output === 'id' ? job.id : jobTable([job], new Date()))
  })
}

function jsonIn(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file === '-' ? 0 : file, 'utf8')) as unknown
  } catch (error) {
    throw new UsageError(`Expected ${file} to contain JSON: ${messageOf(error)}.`)
  }
}

function contractIn(loaded: unknown, kind: string): JobContract {
  const exported = Object.values(loaded as Record<string, unknown>).flatMap((one) =>
    Array.isArray(one) ? (one as unknown[]) : [one],
  )
  const found = exported.find((one) => peek(one, 'kind') === kind && peek(one, 'retry') !== undefined)
  if (found === undefined) throw new UsageError(`The file exports no contract for '${kind}'.`)
  return found as JobContract
}

/** Checks that a filter is given without ids. */
function alone(where: string, ids: readonly string[]): string {
  noMore(ids)
  return where
}

export const job = nounOf(help, {
  list,
  get,
  why,
  'why-twice': whyTwice,
  steps,
  signal,
  resume,
  cancel,
  'run-now': runNow,
  reschedule,
  reprioritize,
  replay,
  discard,
  restore,
  edit,
})
