import { asTyped } from '../actor.ts'
import { databaseHelp, noMore, parse, UsageError } from '../arguments.ts'
import { withStint } from '../connect.ts'
import { relative } from '../output/format.ts'
import { formatHelp, isJson, note, say, sayJson, table } from '../output/output.ts'
import { nounOf } from '../verbs.ts'
import { nameOf, options } from './queue/arguments.ts'
import { concurrency } from './queue/concurrency.ts'
import { pause, resume } from './queue/pause.ts'
import { drain, open, pressure } from './queue/pressure.ts'
import { keepDeadText, keepText, pausedText, show } from './queue/show.ts'

const help = `stint queue list      queues with their own settings, and paused ones
stint queue get       how long a queue keeps its jobs, and what of it is paused
stint queue set       change how long a queue keeps its jobs
stint queue pause     start no more jobs of a queue, or of one kind or key of it
stint queue resume    end a pause
stint queue pressure  how full a queue is, and whether it takes jobs
stint queue drain     close a queue for new jobs and let it run empty
stint queue open      let a closed queue take jobs again
stint queue concurrency  change how many of its jobs each running worker runs at once

stint queue <command> --help has options and examples.`

const listHelp = `stint queue list    queues with their own settings, and paused ones; all others use the defaults

${formatHelp}
${databaseHelp}

Examples
  stint queue list
  stint queue list -o json | jq '.[] | select(.keepDeadMs == null)'`

async function list(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, options)
  if (values.help) return say(listHelp)
  noMore(positionals)
  const asJson = isJson(values.output)
  const found = await withStint(values, (stint) => stint.queues.list())
  if (asJson) return sayJson(found)
  const now = new Date()
  if (found.length === 0)
    note(`no queue has its own settings: finished jobs are kept ${keepText(null)}, dead letters forever`)
  else
    say(
      table(
        ['QUEUE', 'KEEP', 'KEEP DEAD', 'SET', 'PAUSED'],
        found.map((one) => [
          one.queue,
          keepText(one.keepMs),
          keepDeadText(one.keepDeadMs),
          one.updatedAt === null ? '' : relative(one.updatedAt, now),
          { text: pausedText(one.pauses), style: 'yellow' as const },
        ]),
      ),
    )
  return 0
}

const getHelp = `stint queue get NAME    how long a queue keeps its finished jobs and its dead letters, and what of it is paused

${formatHelp}
${databaseHelp}

Examples
  stint queue get mail
  stint queue get mail -o json | jq .keepMs`

async function get(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, options)
  if (values.help) return say(getHelp)
  const asJson = isJson(values.output)
  const name = nameOf(positionals)
  return show(await withStint(values, (stint) => stint.queues.get(name)), asJson)
}

const setHelp = `stint queue set NAME    change how long a queue keeps its jobs; applies from the next run of upkeep

Options that are not given stay unchanged.

  --keep DURATION       for finished jobs: 12h, 7d, 0 for a few minutes, or default (7d)
  --keep-dead DURATION  for dead letters: 30d, or forever (default)
  --reason TEXT         why, for the audit
${formatHelp}
${databaseHelp}

Examples
  stint queue set mail --keep 1d
  stint queue set billing --keep 90d --keep-dead forever`

async function set(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    keep: { type: 'string' },
    'keep-dead': { type: 'string' },
    reason: { type: 'string' },
    ...options,
  })
  if (values.help) return say(setHelp)
  const asJson = isJson(values.output)
  const name = nameOf(positionals)
  const { keep, 'keep-dead': keepDead, reason } = values
  if (keep === undefined && keepDead === undefined) throw new UsageError('Pass --keep, --keep-dead or both.')
  const change = { keep: durationOf(keep), keepDead: durationOf(keepDead), reason }
  return show(await withStint(values, (stint) => asTyped(stint).setQueue(name, change)), asJson)
}

/** `0` needs no unit. */
function durationOf(text: string | undefined): string | number | undefined {
  return text === '0' ? 0 : text
}

export const queue = nounOf(help, { list, get, set, pause, resume, pressure, drain, open, concurrency })
