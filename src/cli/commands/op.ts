import type { Operator } from '../../client/operator/operator.ts'
import { isUuid } from '../../core/uuid.ts'
import { missingOperation } from '../../operations/operation.ts'
import { jobOutcomes, operationStates } from '../../core/operation.ts'
import type { Operation } from '../../core/operation.ts'
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
import { operationFacts, operationTable } from '../output/operation-page.ts'
import { note, outputHelp, outputOf, outputOption, say, sayJson, table } from '../output/output.ts'
import type { Output } from '../output/output.ts'
import { nounOf } from '../verbs.ts'
import type { Command } from '../verbs.ts'

const help = `stint op list      actions over many jobs, newest first
stint op get       one operation with its progress
stint op jobs      its jobs with their outcomes
stint op pause     pause it after the current batch
stint op resume    resume it
stint op pace      change how many jobs a second it acts on
stint op abort     end it for good; its changes so far stay

Commands with --where start operations: stint dead replay --where 'error:b02c' --reason "fixed".
stint op <command> --help has options and examples.`

const options = { ...outputOption, ...databaseOptions, ...helpOption } as const

const listHelp = `stint op list    actions over many jobs, newest first

  --state STATE         in this state; may be given more than once: ${operationStates.join(', ')}
  --limit N             operations a page, 1 to 200 (default: 50)
  --cursor ID           continue after an earlier page
${outputHelp}
${databaseHelp}

Examples
  stint op list --state ramping --state paused
  stint op list -o json | jq '.operations[] | select(.failed > 0)'`

async function list(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    state: { type: 'string', multiple: true },
    limit: { type: 'string' },
    cursor: { type: 'string' },
    ...options,
  })
  if (values.help) return say(listHelp)
  noMore(positionals)
  const output = outputOf(values.output)
  const state = values.state?.map((word) => choose('state', word, operationStates))
  const limit = values.limit === undefined ? undefined : wholeNumber('--limit', values.limit)
  const page = await withStint(values, (stint) =>
    stint.operations.list({ state, limit, cursor: values.cursor }),
  )
  if (output === 'json') return sayJson(page)
  if (output === 'id') for (const { id } of page.operations) say(id)
  else if (page.operations.length > 0) say(operationTable(page.operations, new Date()))
  if (page.operations.length === 0) note('no operations')
  if (page.next !== undefined) note(`more: --cursor ${page.next}`)
  return 0
}

const getHelp = `stint op get ID    one operation: what it is about, how far it is, what it skipped and why

${outputHelp}
${databaseHelp}

Examples
  stint op get 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4
  stint op get 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 -o json | jq .skippedBy`

async function get(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, options)
  if (values.help) return say(getHelp)
  const output = outputOf(values.output)
  const id = idOf(positionals)
  return show(
    await withStint(values, async (stint) => (await stint.operations.get(id)) ?? missingOperation(id)),
    output,
  )
}

const jobsHelp = `stint op jobs ID    the jobs of an operation with their outcomes, newest first

  --outcome OUTCOME     only those: ${jobOutcomes.join(', ')}
  --limit N             jobs a page, 1 to 1000 (default: 200)
  --cursor ID           continue after an earlier page
${outputHelp}
${databaseHelp}

Examples
  stint op jobs 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --outcome failed
  stint op jobs 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --outcome skipped -o id | xargs -n 1 stint job get`

async function jobs(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    outcome: { type: 'string' },
    limit: { type: 'string' },
    cursor: { type: 'string' },
    ...options,
  })
  if (values.help) return say(jobsHelp)
  const output = outputOf(values.output)
  const id = idOf(positionals)
  const outcome = values.outcome === undefined ? undefined : choose('outcome', values.outcome, jobOutcomes)
  const limit = values.limit === undefined ? undefined : wholeNumber('--limit', values.limit)
  const page = await withStint(values, async (stint) => {
    if ((await stint.operations.get(id)) === undefined) missingOperation(id)
    return stint.operations.jobs(id, { outcome, limit, cursor: values.cursor })
  })
  if (output === 'json') return sayJson(page)
  if (output === 'id') for (const job of page.jobs) say(job.id)
  else if (page.jobs.length > 0)
    say(
      table(
        ['JOB', 'OUTCOME', 'FATE', 'REASON'],
        page.jobs.map((job) => [job.id, job.outcome ?? '', job.fate ?? '', job.reason ?? '']),
      ),
    )
  if (page.jobs.length === 0) note('no jobs')
  if (page.next !== undefined) note(`more: --cursor ${page.next}`)
  return 0
}

/** A command that steers one operation. */
function steering(
  verb: string,
  what: string,
  act: (operations: Operator['operations'], id: string, reason: string | undefined) => Promise<Operation>,
): Command {
  const verbHelp = `stint op ${verb} ID    ${what}

  --reason TEXT         why, for the audit
${outputHelp}
${databaseHelp}

Examples
  stint op ${verb} 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --reason "look at the first ones"
  stint op list --state ramping -o id | xargs -n 1 stint op ${verb}`
  return async (args) => {
    const { values, positionals } = parse(args, { reason: { type: 'string' }, ...options })
    if (values.help) return say(verbHelp)
    const output = outputOf(values.output)
    const id = idOf(positionals)
    return withStint(values, async (stint) =>
      show(await act(asTyped(stint).operations, id, values.reason), output),
    )
  }
}

const paceHelp = `stint op pace ID N    change how many jobs a second it acts on; 'max' is as fast as it goes

${outputHelp}
${databaseHelp}

Examples
  stint op pace 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 5
  stint op pace 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 max`

async function pace(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, options)
  if (values.help) return say(paceHelp)
  const output = outputOf(values.output)
  const [id, text = '', ...more] = positionals
  noMore(more)
  const wanted = text === 'max' ? null : Number(text.replace(/\/s$/, ''))
  if (wanted !== null && !(wanted > 0)) throw new UsageError(`Expected jobs a second, or max, got '${text}'.`)
  const checked = idOf(id === undefined ? [] : [id])
  return withStint(values, async (stint) =>
    show(await asTyped(stint).operations.setPace(checked, wanted), output),
  )
}

function show(operation: Operation, output: Output): number {
  if (output === 'json') return sayJson(operation)
  return say(output === 'id' ? operation.id : operationFacts(operation, new Date()))
}

function idOf([id = '', ...more]: readonly string[]): string {
  noMore(more)
  if (isUuid(id)) return id
  throw new UsageError(`Expected the id of an operation (a whole UUID), got '${String(id)}'.`)
}

export const op = nounOf(help, {
  list,
  get,
  jobs,
  pause: steering('pause', 'pause it after the current batch', (all, id, reason) =>
    all.pause(id, { reason }),
  ),
  resume: steering(
    'resume',
    'continue one that was paused, or that no process executes any more',
    (all, id, reason) => all.resume(id, { reason }),
  ),
  pace,
  abort: steering('abort', 'end it for good; its changes so far stay', (all, id, reason) =>
    all.abort(id, { reason }),
  ),
})
