import type { JobContract } from '../../../contracts/contract.ts'
import { defineJob } from '../../../contracts/define-job.ts'
import { changed } from '../../../schedules/rules/definition.ts'
import type { ScheduleChanges } from '../../../schedules/rules/definition.ts'
import { missedPolicies, overlapPolicies } from '../../../schedules/rules/define-schedule.ts'
import type { ScheduleDefinition } from '../../../schedules/rules/define-schedule.ts'
import { asTyped } from '../../actor.ts'
import { choose, databaseHelp, parse, UsageError, wholeNumber } from '../../arguments.ts'
import { withStint } from '../../connect.ts'
import { formatHelp, isJson, note, say } from '../../output/output.ts'
import { showSchedule } from '../../output/schedule-page.ts'
import { common, onlyName, reasonHelp, reasonOption } from './arguments.ts'

const setHelp = `stint schedule set NAME    create or change a schedule; a change counts from now on

For a stored schedule, options that are not given stay as they are. A new one needs --kind and --cron or --every; the
defaults apply to a new one only.

  --kind KIND           the kind of its jobs
  --queue NAME          their queue (default: default)
  --cron EXPRESSION     5 fields, or 6 with seconds in front
  --every DURATION      a fixed interval, instead of --cron: 15m
  --time-zone ZONE      for --cron: Europe/Rome (default: UTC)
  --input JSON          the input of its jobs (default: null)
  --priority N          the priority of its jobs, -100 to 100; --priority=-5
  --attempts N          attempts of its jobs (default: 5)
  --overlap POLICY      ${overlapPolicies.join(', ')} (default: allow)
  --missed POLICY       ${missedPolicies.join(', ')} (default: once)
  --missed-limit N      with --missed all: how many at most, the latest ones, 1 to 1000 (default: 100)
  --missed-window D     a fire that is later than this does not run, up to 366d (default: 24h)
  --jitter DURATION     spread its jobs over this span
  --keep-fires DURATION how long its fires are kept, 1d to 3660d (default: 30d)
  --starts-at TIME      no fires before this time: 2030-01-31T09:00:00Z, or none
  --ends-at TIME        no fires after this time, or none
${reasonHelp}
${formatHelp}
${databaseHelp}

The command line does not know the contract, so it does not check the input. A key, unique key and search words that the
contract derived from an earlier input stay as they are. If workers have the schedule in their code, the next such worker
that starts stores its own definition again.

Examples
  stint schedule set nightly-report --kind report.send --cron '0 2 * * *' --time-zone Europe/Rome --input '{"to":"ana"}'
  stint schedule set sweep --kind cache.sweep --every 15m --overlap skip
  stint schedule set nightly-report --cron '0 3 * * *'`

export async function set(args: readonly string[]): Promise<number> {
  const text = { type: 'string' } as const
  const { values, positionals } = parse(args, {
    kind: text,
    queue: text,
    cron: text,
    every: text,
    'time-zone': text,
    input: text,
    priority: text,
    attempts: text,
    overlap: text,
    missed: text,
    jitter: text,
    'starts-at': text,
    'ends-at': text,
    'keep-fires': text,
    'missed-limit': text,
    'missed-window': text,
    ...reasonOption,
    ...common,
  })
  if (values.help) return say(setHelp)
  const name = onlyName(positionals)
  const { kind, queue, cron, every, jitter, 'missed-limit': missedLimit } = values
  const asJson = isJson(values.output)
  const changes: ScheduleChanges = {
    cron,
    every,
    jitter,
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
        `Code makes the input of '${name}', and the command line does not have this code: pass --input.`,
      )
    if (before?.source === 'code' && !before.isOrphan)
      note(
        `'${name}' is in the code of live workers: the next such worker that starts stores its own definition again`,
      )
    const stored = await stint.schedules.definition(name)
    const job = contractOf(kind, stored)
    const definition = changed({ ...stored, name, job }, changes)
    return showSchedule(await asTyped(stint).schedules.set(definition, { reason: values.reason }), asJson)
  })
}

/** The stored contract, if the kind is the same: it knows more than a kind, such as its version and unique rule. */
function contractOf(kind: string | undefined, stored: ScheduleDefinition | undefined): JobContract {
  if (stored !== undefined && (kind === undefined || kind === stored.job.kind)) return stored.job
  if (kind === undefined) throw new UsageError('Missing option: --kind, which a new schedule needs.')
  return defineJob({ kind, queue: stored?.job.queue })
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new UsageError(`Expected --input to be JSON, got '${text}'.`)
  }
}
