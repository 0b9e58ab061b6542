import { setTimeout as pause } from 'node:timers/promises'
import type { Preview } from '../client/operations/operations.ts'
import type { Stint } from '../client/stint.ts'
import type { OperationsWorker, OperationsWorkerOptions } from '../worker/operations-worker.ts'
import { diedAgain, isUnderWay } from '../core/operation.ts'
import type { Operation, OperationAction } from '../core/operation.ts'
import { asTyped } from './actor.ts'
import { UsageError, wholeNumber } from './arguments.ts'
import { exitCodes } from './output/errors.ts'
import { ask, facts, note, say, sayJson } from './output/output.ts'
import type { Output } from './output/output.ts'
import { jobTable } from './output/job-table.ts'
import { crashWarning, operationFacts, progressLine } from './output/operation-page.ts'

/** Options of every command that acts on all jobs matching a filter. */
export const bulkOptions = {
  where: { type: 'string' },
  canary: { type: 'string' },
  pace: { type: 'string' },
  'stop-if': { type: 'string' },
  max: { type: 'string' },
  yes: { type: 'boolean', default: false },
  reason: { type: 'string' },
} as const

export const bulkHelp = `  --where FILTER        all jobs that match, as an operation: 'error:b02c queue:billing age>1h'
  --reason TEXT         why, for the audit; required with --where
  --pace N/s            jobs a second; 'max' is as fast as it goes
  --max N               never more than this (default: 10000)
  --yes                 do not ask; needs --max where there is no terminal`

export const canaryHelp = `  --canary N            try so many first, spread over all (default: a tenth, 1 to 10)
  --stop-if RULE        percent of the canary, then of all ended, above which it stops: 'same>20%' (default), 'any>5%', or both with a comma`

export interface BulkValues {
  where?: string | undefined
  canary?: string | undefined
  pace?: string | undefined
  'stop-if'?: string | undefined
  max?: string | undefined
  yes: boolean
  reason?: string | undefined
  'dry-run': boolean
  'database-url'?: string | undefined
  schema?: string | undefined
}

export interface Bulk {
  action: OperationAction
  where: string
  priority?: number | undefined
  output: Output
}

/** Shows a preview, asks, starts the operation, and waits until it ends. */
export async function operate(stint: Stint, bulk: Bulk, values: BulkValues): Promise<number> {
  const { action, where, priority, output } = bulk
  const request = {
    action,
    where,
    priority,
    canary: values.canary === undefined ? undefined : wholeNumber('--canary', values.canary),
    pace: paceOf(values.pace),
    stopIf: stopOf(values['stop-if']),
    max: values.max === undefined ? undefined : wholeNumber('--max', values.max),
  }
  const { reason } = values
  if (reason === undefined && !values['dry-run'])
    throw new UsageError('Give a reason for the audit with --reason.')
  const preview = await stint.operations.preview(request)
  if (values['dry-run']) return showPreview(preview, output)
  if (output === 'table') showPreview(preview, output)
  if (preview.matched.count === 0 && preview.matched.isExact) {
    note('nothing matches')
    return exitCodes.ok
  }
  if (!(await isConfirmed(preview, values))) {
    note('nothing was done')
    return exitCodes.refused
  }
  const operations = asTyped(stint).operations
  const { id } = await operations.start({ ...request, asOf: preview.asOf, reason: reason ?? '' })
  const { connection, schema } = { connection: values['database-url'], schema: values.schema }
  let own: OperationsWorker | undefined
  // Without a console or another executor no process would execute the operation; and a running one may end meanwhile.
  const haveExecutor = async (): Promise<void> => {
    if (own === undefined && !(await operations.hasExecutor()))
      own = await startWorker({ connection, schema })
  }
  try {
    return showEnd(await follow(stint, id, { output, haveExecutor }), output)
  } finally {
    await own?.stop()
  }
}

function showPreview(preview: Preview, output: Output): 0 {
  if (output === 'json') return sayJson(preview)
  if (output === 'id') {
    for (const { id } of preview.samples) say(id)
    return 0
  }
  if (preview.samples.length > 0) say(jobTable(preview.samples, new Date()))
  const { matched, excluded, canary, pace, stopIf } = preview
  const rules = [
    ...(stopIf.sameError === null ? [] : [`the same error comes back for more than ${stopIf.sameError}%`]),
    ...(stopIf.anyFailure === null ? [] : [`more than ${stopIf.anyFailure}% fail`]),
  ]
  note(
    facts([
      ['match', countText(matched)],
      ['left out', excluded.map(({ reason, count }) => `${count} ${reason}`).join(', ')],
      ['canary', canary === 0 ? null : `${canary}, stops if ${rules.join(' or ')}`],
      ['warning', crashWarning(preview)],
      ['pace', pace === null ? 'as fast as it goes' : `${pace} a second`],
    ]),
  )
  return 0
}

function countText({ count, isExact }: Preview['matched']): string {
  return isExact ? String(count) : `${count >= 10_000 ? '10k' : count}+`
}

/** For more jobs than this, the person types the number to confirm. */
const manyJobs = 1_000

async function isConfirmed({ matched, max }: Preview, values: BulkValues): Promise<boolean> {
  if (values.yes) {
    if (values.max === undefined && !process.stdin.isTTY)
      throw new UsageError(
        'Without a terminal, --yes also needs --max, the largest number of jobs to act on.',
      )
    return true
  }
  if (!process.stdin.isTTY) throw new UsageError('There is no terminal to ask: pass --yes and --max.')
  const number = matched.isExact ? matched.count : max
  const isMany = number > manyJobs || !matched.isExact
  const question = isMany
    ? `This may act on ${number} jobs. Type ${number} to go on: `
    : `Proceed with ${number}? [y/N] `
  const answer = (await ask(question)).trim().toLowerCase()
  return isMany ? answer === String(number) : answer === 'y' || answer === 'yes'
}

const executorEveryMs = 3_000

/** Waits until the operation has ended or is paused; shows its progress, and executes it if no other process does. */
async function follow(
  stint: Stint,
  id: string,
  { output, haveExecutor }: { output: Output; haveExecutor: () => Promise<void> },
): Promise<Operation> {
  let said = ''
  let askedAt = -Infinity
  for (;;) {
    if (performance.now() - askedAt >= executorEveryMs) {
      await haveExecutor()
      askedAt = performance.now()
    }
    const operation = await stint.operations.get(id)
    if (operation === undefined) throw new Error(`Operation ${id} is gone`)
    const line = progressLine(operation)
    if (output === 'table' && line !== said) note(line)
    said = line
    if (!isUnderWay(operation.state)) return operation
    await pause(500)
  }
}

function showEnd(operation: Operation, output: Output): number {
  if (output === 'json') sayJson(operation)
  else if (output === 'id') say(operation.id)
  else say(operationFacts(operation, new Date()))
  if (operation.state !== 'done') return exitCodes.refused
  const { skipped, failed, fates } = operation
  return skipped + failed + diedAgain(fates) > 0 ? exitCodes.partial : exitCodes.ok
}

/** `20/s`, or `20`; null for `max`. */
function paceOf(text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined
  if (text === 'max') return null
  const [, number] = /^(\d{1,5}(?:\.\d{1,3})?)(?:\/s)?$/.exec(text) ?? []
  if (number !== undefined) return Number(number)
  throw new UsageError(`Expected --pace to be jobs a second, such as 20/s, or max, got '${text}'.`)
}

/** `same>20%,any>5%` */
function stopOf(text: string | undefined): { sameError?: number; anyFailure?: number } | undefined {
  if (text === undefined) return undefined
  const rules: { sameError?: number; anyFailure?: number } = {}
  for (const part of text.split(',')) {
    const [, name, percent] = /^\s*(same|any)\s*>\s*(\d{1,3}(?:\.\d{1,3})?)%?\s*$/.exec(part) ?? []
    if (name === undefined)
      throw new UsageError(`Expected --stop-if to be 'same>20%' or 'any>5%', got '${text}'.`)
    rules[name === 'same' ? 'sameError' : 'anyFailure'] = Number(percent)
  }
  return rules
}

/** Loaded on demand: a worker takes long to load, and this command rarely needs one. */
async function startWorker(options: OperationsWorkerOptions): Promise<OperationsWorker> {
  const { startOperationsWorker } = await import('../worker/operations-worker.ts')
  return startOperationsWorker(options)
}
