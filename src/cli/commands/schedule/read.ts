import { StintError } from '../../../core/errors.ts'
import { databaseHelp, noMore, parse, wholeNumber } from '../../arguments.ts'
import { withStint } from '../../connect.ts'
import { moment } from '../../output/format.ts'
import { formatHelp, isJson, note, say, sayJson } from '../../output/output.ts'
import { detailsText, fireTable, scheduleTable } from '../../output/schedule-page.ts'
import { common, onlyName } from './arguments.ts'

const listHelp = `stint schedule list    schedules by name, and when each fires next

${formatHelp}
${databaseHelp}

Examples
  stint schedule list
  stint schedule list -o json | jq '.[] | select(.isOrphan)'`

export async function list(args: readonly string[]): Promise<number> {
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

const getHelp = `stint schedule get NAME    details of one schedule, with its last fires

  --fires N             number of fires, 1 to 1,000 (default: 20)
${formatHelp}
${databaseHelp}

Examples
  stint schedule get nightly-report
  stint schedule get nightly-report --fires 200 -o json`

export async function get(args: readonly string[]): Promise<number> {
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

const nextHelp = `stint schedule next NAME    its next fire times; marks those that a clock change moves

  -n, --count N         how many, 1 to 1,000 (default: 5)
${formatHelp}
${databaseHelp}

Examples
  stint schedule next nightly-report
  stint schedule next nightly-report -n 400 | grep -E 'gap|overlap'`

export async function next(args: readonly string[]): Promise<number> {
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
    if (times.length === 0) note('no next fire: the schedule has ended or is paused')
    for (const { at, shift } of times) say(`${moment(at, new Date())}${shift === null ? '' : `  ${shift}`}`)
    return 0
  })
}
