import type { Stint } from '../../client/stint.ts'
import { whyNoDeadLetter, whyNotReplay } from '../../client/dead/dead-letters.ts'
import { durationMs } from '../../core/duration.ts'
import { StintError } from '../../core/errors.ts'
import type { DeadLetterSummary } from '../../client/dead/dead-letter-page.ts'
import { deadReasons } from '../../jobs/dead/dead-letter.ts'
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
import { relative } from '../output/format.ts'
import { jobPage, summary } from '../output/job-page.ts'
import { lastLogs } from '../output/last-logs.ts'
import { bulkHelp, bulkOptions, canaryHelp, operate } from '../operate.ts'
import { note, outputHelp, outputOf, outputOption, say, sayJson, table } from '../output/output.ts'
import { nounOf } from '../verbs.ts'
import { deadGroups } from './error.ts'

const help = `stint dead list       jobs that failed for good, newest first
stint dead groups     dead letters grouped by error, with the trend
stint dead get        details of one dead letter, with every attempt
stint dead replay     run dead letters again, as the same jobs
stint dead discard    move dead letters to the trash for 24 hours
stint dead restore    take dead letters out of the trash

stint dead <command> --help has options and examples.`

const listHelp = `stint dead list    dead letters, newest first; without those in the trash or replaced by an edited job

  --queue NAME          of this queue
  --kind NAME           of this kind
  --key KEY             with this key
  --reason REASON       that died for this reason: ${deadReasons.join(', ')}
  --fingerprint TEXT    with this error
  --discarded           only those in the trash
  --replaced            also those that an edited job has replaced
  --limit N             dead letters per page, 1 to 200 (default: 50)
  --cursor ID           continue after the page that printed this cursor
${outputHelp}
${databaseHelp}

Examples
  stint dead list --queue billing --reason exhausted
  stint dead list --fingerprint b02c9e51 -o id | xargs stint dead replay`

async function list(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    queue: { type: 'string' },
    kind: { type: 'string' },
    key: { type: 'string' },
    reason: { type: 'string' },
    fingerprint: { type: 'string' },
    discarded: { type: 'boolean', default: false },
    replaced: { type: 'boolean', default: false },
    limit: { type: 'string' },
    cursor: { type: 'string' },
    ...outputOption,
    ...databaseOptions,
    ...helpOption,
  })
  if (values.help) return say(listHelp)
  noMore(positionals)
  const output = outputOf(values.output)
  const { queue, kind, key, fingerprint, discarded, replaced, cursor: before } = values
  const reason = values.reason === undefined ? undefined : choose('reason', values.reason, deadReasons)
  const limit = values.limit === undefined ? undefined : wholeNumber('--limit', values.limit)
  const filter = { queue, kind, key, fingerprint, reason, discarded, replaced, limit, before }
  const page = await withStint(values, (stint) => stint.dead.list(filter))
  if (output === 'json') return sayJson(page)
  if (output === 'id') for (const { id } of page.dead) say(id)
  else if (page.dead.length > 0) say(deadTable(page.dead, new Date()))
  if (page.dead.length === 0)
    note(page.next === undefined ? 'no dead letters' : 'no match in the rows searched so far')
  if (page.next !== undefined) note(`more: --cursor ${page.next}`)
  return 0
}

function deadTable(dead: readonly DeadLetterSummary[], now: Date): string {
  const heads = ['ID', 'QUEUE', 'KIND', 'KEY', 'REASON', '>ATTEMPT', 'DIED', 'ERROR']
  const rows = dead.map((letter) => [
    ...[letter.id, letter.queue, letter.kind, letter.key ?? ''],
    letter.broken.length === 0 ? letter.reason : `${letter.reason} (invalid row)`,
    ...[`${letter.attempt}/${letter.maxAttempts}`, relative(letter.finishedAt ?? now, now)],
    summary(letter.error),
  ])
  return table(heads, rows, { spare: ['ATTEMPT', 'KEY', 'REASON', 'QUEUE'] })
}

const getHelp = `stint dead get ID    details of one dead letter: every attempt and the last log lines

  --logs N              lines of log, 0 to 1,000 (default: 10)
${outputHelp}
${databaseHelp}

Examples
  stint dead get 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4
  stint dead get 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 -o json`

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
    const letter = await stint.dead.get(id, { blob: false })
    if (letter === undefined) return missingDead(stint, id)
    if (output === 'id') return say(letter.id)
    const { attempts, fingerprint } = letter
    const logs = await lastLogs(stint, id, limit)
    if (output === 'json') return sayJson({ ...letter, logs })
    return say(jobPage({ job: letter, fingerprint, attempts, logs }, new Date()))
  })
}

async function missingDead(stint: Stint, id: string): Promise<never> {
  const job = await findJob(stint, id)
  throw new StintError(
    'job-not-found',
    `Job ${id} of '${job.kind}' is ${job.state}, so it is not a dead letter.`,
    {
      jobIds: [id],
    },
  )
}

const replayHelp = `stint dead replay ID…           run dead letters again, as the same jobs, with all their attempts
stint dead replay GROUP         all dead letters of an error group, given by 4 or more first characters
stint dead replay --where …     all dead letters that match a filter, as an operation: preview, canary, pace

Of ids each goes by itself: what cannot be replayed is said, and the others are.

  --delay DURATION      with ids: run after this delay: 30s, 5m, 2h
${bulkHelp}
${canaryHelp}
  --dry-run             show what would be done, without doing it
${outputHelp}
${databaseHelp}

Examples
  stint dead replay 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4
  stint dead replay b02c --canary 10 --pace 20/s --stop-if 'same>20%' --reason "fixed in v215"
  stint dead replay --where 'queue:billing age>1h' --dry-run`

const discardHelp = `stint dead discard ID…          move dead letters to the trash for 24 hours; can be repeated safely
stint dead discard --where …    all that match a filter, as an operation

${bulkHelp}
  --dry-run             show what would be done, without doing it
${outputHelp}
${databaseHelp}

Examples
  stint dead discard 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4
  stint dead discard --where 'queue:old' --reason "the service is gone"`

const restoreHelp = `stint dead restore ID…          take dead letters out of the trash; can be repeated safely
stint dead restore --where …    all that match a filter, as an operation

${bulkHelp}
  --dry-run             show what would be done, without doing it
${outputHelp}
${databaseHelp}

Examples
  stint dead restore 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4
  stint dead restore --where 'queue:mail' --reason "too many"`

const actOptions = {
  'dry-run': { type: 'boolean', default: false },
  ...bulkOptions,
  ...outputOption,
  ...databaseOptions,
  ...helpOption,
} as const

export async function replay(args: readonly string[]): Promise<number> {
  const { values, positionals: ids } = parse(args, { delay: { type: 'string' }, ...actOptions })
  if (values.help) return say(replayHelp)
  const { delay, reason } = values
  if (delay !== undefined && durationMs(delay) === undefined)
    throw new UsageError(`Expected --delay to be a duration such as 30s or 5m, got '${delay}'.`)
  const request = { ids, output: outputOf(values.output), isDryRun: values['dry-run'], done: 'replayed' }
  const where = whereOf(values.where, ids)
  return withStint(values, (stint) =>
    where === undefined
      ? actOn(stint, {
          ...request,
          act: (id) => asTyped(stint).replay(id, { delay, reason }),
          whyNot: whyNotReplay,
        })
      : operate(stint, { action: 'replay', where, output: request.output }, values),
  )
}

export async function discard(args: readonly string[]): Promise<number> {
  const { values, positionals: ids } = parse(args, actOptions)
  if (values.help) return say(discardHelp)
  const { reason } = values
  const request = { ids, output: outputOf(values.output), isDryRun: values['dry-run'], done: 'discarded' }
  const where = whereOf(values.where, ids)
  return withStint(values, (stint) =>
    where === undefined
      ? actOn(stint, {
          ...request,
          act: (id) => asTyped(stint).discard(id, { reason }),
          whyNot: whyNoDeadLetter,
        })
      : operate(stint, { action: 'discard', where, output: request.output }, values),
  )
}

export async function restore(args: readonly string[]): Promise<number> {
  const { values, positionals: ids } = parse(args, actOptions)
  if (values.help) return say(restoreHelp)
  const { reason } = values
  const request = { ids, output: outputOf(values.output), isDryRun: values['dry-run'], done: 'restored' }
  const where = whereOf(values.where, ids)
  return withStint(values, (stint) =>
    where === undefined
      ? actOn(stint, {
          ...request,
          act: (id) => asTyped(stint).restore(id, { reason }),
          whyNot: whyNoDeadLetter,
        })
      : operate(stint, { action: 'restore', where, output: request.output }, values),
  )
}

/** The filter from --where, or from the beginning of a fingerprint; undefined if the words are job ids. */
function whereOf(where: string | undefined, words: readonly string[]): string | undefined {
  const [word] = words
  if (where !== undefined) {
    noMore(words)
    return where
  }
  const isGroup = words.length === 1 && word !== undefined && /^[\da-f]{4,64}$/.test(word)
  return isGroup ? `error:${word}` : undefined
}

export const dead = nounOf(help, { list, groups: deadGroups, get, replay, discard, restore })
