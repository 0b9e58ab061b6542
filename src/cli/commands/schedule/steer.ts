import { asTyped } from '../../actor.ts'
import { databaseHelp, databaseOptions, helpOption, parse } from '../../arguments.ts'
import { withStint } from '../../connect.ts'
import { formatHelp, isJson, note, say, sayJson } from '../../output/output.ts'
import { askedText, showSchedule } from '../../output/schedule-page.ts'
import { common, onlyName, reasonHelp, reasonOption } from './arguments.ts'

const runHelp = `stint schedule run NAME    enqueue a job of it now, in addition to its own times; prints the job's id

If code makes the input, a worker that has the schedule's code stores the job, with the id that is printed.

${reasonHelp}
${formatHelp}
${databaseHelp}

Examples
  stint schedule run nightly-report
  stint job get $(stint schedule run nightly-report)`

export async function runNow(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { ...reasonOption, ...common })
  if (values.help) return say(runHelp)
  const name = onlyName(positionals)
  const asJson = isJson(values.output)
  const { made, schedule } = await withStint(values, async (stint) => ({
    made: await asTyped(stint).schedules.run(name, { reason: values.reason }),
    schedule: await stint.schedules.get(name),
  }))
  if (asJson) return sayJson(made)
  say(made.jobId)
  if (made.action === 'asked') note(askedText(1, schedule))
  return 0
}

const pauseHelp = `stint schedule pause NAME    stop its fires until a time, or until it is resumed; times in the pause do not fire later

  --for DURATION        how long: 2h
  --until TIME          until this time: 2030-01-31T09:00:00Z
  --reason TEXT         why; shown with the schedule
${formatHelp}
${databaseHelp}

Examples
  stint schedule pause nightly-report --for 2h --reason "moving the warehouse"
  stint schedule pause nightly-report`

export async function pause(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    for: { type: 'string' },
    until: { type: 'string' },
    reason: { type: 'string' },
    ...common,
  })
  if (values.help) return say(pauseHelp)
  const name = onlyName(positionals)
  const asJson = isJson(values.output)
  const { for: span, until, reason } = values
  return showSchedule(
    await withStint(values, (stint) => asTyped(stint).schedules.pause(name, { for: span, until, reason })),
    asJson,
  )
}

const resumeHelp = `stint schedule resume NAME    end the pause of a schedule; it fires again from now on

${reasonHelp}
${formatHelp}
${databaseHelp}

Examples
  stint schedule resume nightly-report
  stint schedule resume nightly-report -o json`

export async function resume(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { ...reasonOption, ...common })
  if (values.help) return say(resumeHelp)
  const name = onlyName(positionals)
  const asJson = isJson(values.output)
  return showSchedule(
    await withStint(values, (stint) => asTyped(stint).schedules.resume(name, { reason: values.reason })),
    asJson,
  )
}

const deleteHelp = `stint schedule delete NAME    delete a schedule and its fires; its jobs stay

A schedule that live workers have in their code cannot be deleted: remove it there, or pause it.

${reasonHelp}
${databaseHelp}

Examples
  stint schedule delete nightly-report
  stint schedule delete nightly-report --schema other`

export async function remove(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { ...reasonOption, ...databaseOptions, ...helpOption })
  if (values.help) return say(deleteHelp)
  const name = onlyName(positionals)
  await withStint(values, (stint) => asTyped(stint).schedules.delete(name, { reason: values.reason }))
  note(`'${name}' is gone`)
  return 0
}
