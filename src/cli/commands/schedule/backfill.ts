import { asTyped } from '../../actor.ts'
import { databaseHelp, parse, UsageError } from '../../arguments.ts'
import { withStint } from '../../connect.ts'
import { moment } from '../../output/format.ts'
import { formatHelp, isJson, note, say, sayJson, table } from '../../output/output.ts'
import { askedText } from '../../output/schedule-page.ts'
import { common, onlyName, reasonHelp, reasonOption } from './arguments.ts'

const backfillHelp = `stint schedule backfill NAME    fire the times of a range that were missed, skipped or before the schedule existed

A time that fired does not fire again. At most 1,000 times. Check first with --dry-run. If code makes the input, a worker
that has the schedule's code stores the jobs.

  --from TIME           start of the range: 2026-03-27T00:00:00Z
  --to TIME             end of the range, not in the future
${reasonHelp}
  --dry-run             show what would be done, without doing it
${formatHelp}
${databaseHelp}

Examples
  stint schedule backfill nightly-report --from 2026-03-27T00:00:00Z --to 2026-03-29T23:00:00Z --dry-run
  stint schedule backfill nightly-report --from 2026-03-27T00:00:00Z --to 2026-03-29T23:00:00Z`

export async function backfill(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    from: { type: 'string' },
    to: { type: 'string' },
    'dry-run': { type: 'boolean', default: false },
    ...reasonOption,
    ...common,
  })
  if (values.help) return say(backfillHelp)
  const name = onlyName(positionals)
  const { from, to, reason, 'dry-run': dryRun } = values
  if (from === undefined || to === undefined)
    throw new UsageError('Missing options: --from and --to, the range.')
  const asJson = isJson(values.output)
  const { plan, schedule } = await withStint(values, async (stint) => ({
    plan: await (dryRun
      ? stint.schedules.backfill(name, { from, to, dryRun })
      : asTyped(stint).schedules.backfill(name, { from, to, reason })),
    schedule: await stint.schedules.get(name),
  }))
  if (asJson) return sayJson(plan)
  const rows = plan.map(({ fireAt, action, before, jobId }) => [
    ...[moment(fireAt, new Date()), action, before ?? '', jobId ?? ''],
  ])
  if (rows.length > 0) say(table(['FIRE', 'ACTION', 'BEFORE', 'JOB'], rows))
  const made = plan.filter(({ action }) => action !== 'kept').length
  const isAsked = plan.some(({ action }) => action === 'asked')
  if (dryRun) note(`${made} of ${plan.length} would ${isAsked ? 'be asked for' : 'fire'}`)
  else if (isAsked) note(askedText(made, schedule))
  else note(`${made} of ${plan.length} fired`)
  return 0
}
