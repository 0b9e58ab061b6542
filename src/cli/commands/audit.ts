import { databaseHelp, databaseOptions, helpOption, noMore, parse, wholeNumber } from '../arguments.ts'
import { withStint } from '../connect.ts'
import { relative } from '../output/format.ts'
import { note, outputHelp, outputOf, outputOption, say, sayJson, table } from '../output/output.ts'
import { nounOf } from '../verbs.ts'

const help = `stint audit list    actions that people took or were refused, newest first

stint audit <command> --help has options and examples.`

const listHelp = `stint audit list    actions that people took or were refused, newest first

  --actor NAME          by this actor: ana, or cli:ana@host
  --target NAME         on this job, schedule, queue, error group or operation
  --action NAME         one action, such as job.replay, or all of a noun, such as job
  --limit N             entries per page, 1 to 200 (default: 50)
  --cursor ID           continue after the page that printed this cursor
${outputHelp}
${databaseHelp}

Examples
  stint audit list --action operation
  stint audit list --target 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 -o json`

async function list(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    actor: { type: 'string' },
    target: { type: 'string' },
    action: { type: 'string' },
    limit: { type: 'string' },
    cursor: { type: 'string' },
    ...outputOption,
    ...databaseOptions,
    ...helpOption,
  })
  if (values.help) return say(listHelp)
  noMore(positionals)
  const output = outputOf(values.output)
  const { actor, target, action, cursor } = values
  const limit = values.limit === undefined ? undefined : wholeNumber('--limit', values.limit)
  const page = await withStint(values, (stint) => stint.audit.list({ actor, target, action, limit, cursor }))
  if (output === 'json') return sayJson(page)
  const now = new Date()
  if (output === 'id') for (const { id } of page.entries) say(id)
  else if (page.entries.length > 0)
    say(
      table(
        ['WHEN', 'ACTOR', 'ORIGIN', 'ACTION', 'TARGET', 'OUTCOME', 'REASON'],
        page.entries.map((one) => [
          ...[
            relative(one.at, now),
            one.actor,
            one.origin,
            one.action,
            one.target,
            one.outcome,
            one.reason ?? '',
          ],
        ]),
        { spare: ['ORIGIN', 'OUTCOME', 'ACTOR', 'WHEN'] },
      ),
    )
  if (page.entries.length === 0) note('no audit entries match')
  if (page.next !== undefined) note(`more: --cursor ${page.next}`)
  return 0
}

export const audit = nounOf(help, { list })
