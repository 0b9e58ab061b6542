import { checkedIds } from '../act.ts'
import { databaseHelp, databaseOptions, helpOption, noMore, parse } from '../arguments.ts'
import { withStint } from '../connect.ts'
import { formatHelp, isJson, note, outputOption, say, sayJson } from '../output/output.ts'
import { parkedText, stepTable } from '../output/step-table.ts'

const stepsHelp = `stint job steps ID    the steps of a job: state, tries, when, how long, and what each returned

${formatHelp}
${databaseHelp}

A result is cut to fit the line; -o json has all of it. Of a job that succeeded or was cancelled, only results that fit
into its history are kept.

Examples
  stint job steps 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4
  stint job steps 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 -o json`

export async function steps(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { ...outputOption, ...databaseOptions, ...helpOption })
  if (values.help) return say(stepsHelp)
  const asJson = isJson(values.output)
  const [id = '', ...more] = checkedIds(positionals)
  noMore(more)
  return withStint(values, async (stint) => {
    const found = await stint.steps(id)
    if (asJson) return sayJson(found)
    if (found.length > 0) say(stepTable(found, new Date()))
    else note('no steps')
    const parked = await stint.parked(id)
    if (parked !== undefined) note(parkedText(parked, new Date()))
    return 0
  })
}
