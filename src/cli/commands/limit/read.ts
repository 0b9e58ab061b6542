import { missingLimit } from '../../../client/limits.ts'
import { databaseHelp, noMore, parse, wholeNumber } from '../../arguments.ts'
import { withStint } from '../../connect.ts'
import { keyRuleTable, limitTable, showLimit } from '../../output/limit-page.ts'
import { formatHelp, isJson, note, say, sayJson } from '../../output/output.ts'
import { common, onlyName } from './arguments.ts'

const listHelp = `stint limit list    concurrency limits and rates, how full they are, and how many ready jobs wait behind each

${formatHelp}
${databaseHelp}

Examples
  stint limit list
  stint limit list -o json | jq '.[] | select(.override != null)'`

export async function list(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, common)
  if (values.help) return say(listHelp)
  noMore(positionals)
  const asJson = isJson(values.output)
  const found = await withStint(values, (stint) => stint.limits.list({ limit: 1_000 }))
  if (asJson) return sayJson(found)
  if (found.length === 0)
    note('no limits: define them with defineLimit() and defineRate() in the code of workers')
  else say(limitTable(found, new Date()))
  return 0
}

const getHelp = `stint limit get NAME    details of a limit or a rate: its use, override, busiest keys, and the jobs that hold it

${formatHelp}
${databaseHelp}

Examples
  stint limit get media/tenant
  stint limit get openai -o json | jq .nextTokenMs`

export async function get(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, common)
  if (values.help) return say(getHelp)
  const name = onlyName(positionals)
  const asJson = isJson(values.output)
  const found = await withStint(values, (stint) => stint.limits.get(name))
  return showLimit(found ?? missingLimit(name), asJson)
}

const keysHelp = `stint limit keys NAME    the rules of single keys of a limit, by key

  --after KEY           begin after this key
  -n, --count N         how many, 1 to 1,000 (default: 100)
${formatHelp}
${databaseHelp}

Examples
  stint limit keys media/tenant
  stint limit keys media/tenant --after acme -n 1000 -o json`

export async function keys(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    after: { type: 'string' },
    count: { type: 'string', short: 'n', default: '100' },
    ...common,
  })
  if (values.help) return say(keysHelp)
  const name = onlyName(positionals)
  const limit = wholeNumber('--count', values.count)
  const asJson = isJson(values.output)
  const found = await withStint(values, (stint) => stint.limits.keys(name, { after: values.after, limit }))
  if (asJson) return sayJson(found)
  if (found.length === 0) note(`no key of '${name}' has a rule of its own`)
  else say(keyRuleTable(found, new Date()))
  const last = found.length === limit ? found.at(-1) : undefined
  if (last !== undefined) note(`more with --after '${last.key}'`)
  return 0
}
