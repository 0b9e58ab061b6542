import type { Stint } from '../../client/stint.ts'
import type { Duration } from '../../core/duration.ts'
import { jobStates } from '../../core/job.ts'
import type { Job } from '../../core/job.ts'
import { actOn, checkedIds, findJob } from '../act.ts'
import {
  choose,
  databaseHelp,
  databaseOptions,
  helpOption,
  noMore,
  parse,
  wholeNumber,
} from '../arguments.ts'
import { withStint } from '../connect.ts'
import { jobPage } from '../job-page.ts'
import { jobTable } from '../job-table.ts'
import { note, outputHelp, outputOf, outputOption, say, sayJson } from '../output.ts'
import { nounOf } from '../verbs.ts'

const help = `stint job list      jobs, newest first
stint job get       all that is known of one
stint job cancel    end jobs; those that run are asked to stop

stint job <command> --help has options and examples.`

const listHelp = `stint job list    jobs, newest first, live and ended

  --queue NAME          of this queue
  --kind NAME           of this kind
  --state STATE         in this state; may be given more than once
  --key KEY             with this key
  --limit N             jobs a page, 1 to 200 (default: 50)
  --cursor ID           go on where a page ended
${outputHelp}
${databaseHelp}

States: ${jobStates.join(', ')}.
A call looks through at most 50,000 jobs; a page may be empty and still have a cursor to go on with.

Examples
  stint job list --queue mail --state ready --state retrying
  stint job list --kind card.charge --key acme -o json`

async function list(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    ...{ queue: { type: 'string' }, kind: { type: 'string' }, key: { type: 'string' } },
    ...{ state: { type: 'string', multiple: true }, limit: { type: 'string' }, cursor: { type: 'string' } },
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
  const page = await withStint(values, (stint) => stint.list({ queue, kind, key, state, limit, cursor }))
  if (output === 'json') return sayJson(page)
  if (output === 'id') for (const { id } of page.jobs) say(id)
  else if (page.jobs.length > 0) say(jobTable(page.jobs, new Date()))
  if (page.jobs.length === 0) note(page.next === undefined ? 'no jobs' : 'none among those looked at')
  if (page.next !== undefined) note(`more: --cursor ${page.next}`)
  return 0
}

const getHelp = `stint job get ID    all that is known of one job: what it carries, its attempts, its last log lines

  --logs N              lines of log, 0 to 1,000 (default: 10)
${outputHelp}
${databaseHelp}

Examples
  stint job get 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4
  stint job get 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --logs 100 -o json`

async function get(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    ...{ logs: { type: 'string', default: '10' } },
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

/** Also used for dead letters; 0 asks for none. */
export async function lastLogs(stint: Stint, id: string, limit: number): ReturnType<Stint['logs']> {
  return limit === 0 ? [] : stint.logs(id, { last: true, limit })
}

const cancelHelp = `stint job cancel ID…    end jobs; those that run are asked to stop. Again is no error

This cannot be undone: look first, with --dry-run.

  --reason TEXT         why, kept with the job
  --wait TIME           how long to wait for the end of those that run: 30s (default: do not wait)
  --dry-run             say what would be done, and do nothing
${outputHelp}
${databaseHelp}

Examples
  stint job cancel 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --reason "customer left"
  stint job list --queue mail --state scheduled -o id | xargs stint job cancel --dry-run`

async function cancel(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    ...{
      reason: { type: 'string' },
      wait: { type: 'string' },
      'dry-run': { type: 'boolean', default: false },
    },
    ...outputOption,
    ...databaseOptions,
    ...helpOption,
  })
  if (values.help) return say(cancelHelp)
  const { reason, wait, 'dry-run': isDryRun } = values
  const act = { ids: positionals, output: outputOf(values.output), isDryRun, done: 'cancelled' }
  return withStint(values, (stint) =>
    actOn(stint, {
      ...act,
      act: (id) => stint.cancel(id, { reason, wait: wait as Duration | undefined }),
      whyNot: whyNotCancel,
    }),
  )
}

function whyNotCancel({ state }: Job): string | undefined {
  const isDone = state === 'succeeded' || state === 'dead'
  return isDone ? `is ${state}, so it cannot be cancelled` : undefined
}

export const job = nounOf(help, { list, get, cancel })
