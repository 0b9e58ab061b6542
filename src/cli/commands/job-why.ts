import { checkedIds } from '../act.ts'
import { databaseHelp, databaseOptions, helpOption, noMore, parse } from '../arguments.ts'
import { withStint } from '../connect.ts'
import { exitCodes } from '../output/errors.ts'
import { formatHelp, isJson, outputOption, say, sayJson } from '../output/output.ts'
import { whyPage, whyTwicePage } from '../output/why-page.ts'

const options = { ...outputOption, ...databaseOptions, ...helpOption } as const

const whyHelp = `stint job why ID    why a job does not run: the conditions of a claim in order (✓ holds, ✗ does not, – not judged),
                    what the first ✗ means, who holds it, and when it should clear

${formatHelp}
${databaseHelp}

Examples
  stint job why 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4
  stint job why 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 -o json`

export async function why(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, options)
  if (values.help) return say(whyHelp)
  const asJson = isJson(values.output)
  const [id = '', ...more] = checkedIds(positionals)
  noMore(more)
  return withStint(values, async (stint) => {
    const job = await stint.get(id, { blob: false })
    const found = await stint.why(id)
    if (asJson) sayJson(found)
    else say(whyPage(id, job, found))
    return job === undefined ? exitCodes.notFound : exitCodes.ok
  })
}

const whyTwiceHelp = `stint job why-twice ID    why a job ran more than once: the cause of each attempt, and whether it burned one

${formatHelp}
${databaseHelp}

Examples
  stint job why-twice 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4`

export async function whyTwice(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, options)
  if (values.help) return say(whyTwiceHelp)
  const asJson = isJson(values.output)
  const [id = '', ...more] = checkedIds(positionals)
  noMore(more)
  return withStint(values, async (stint) => {
    const found = await stint.whyTwice(id)
    return asJson ? sayJson(found) : say(whyTwicePage(found, new Date()))
  })
}
