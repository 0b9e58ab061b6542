import { asTyped } from '../actor.ts'
import { databaseHelp, databaseOptions, helpOption, noMore, parse, UsageError } from '../arguments.ts'
import { withStint } from '../connect.ts'
import { breakerTable, showBreaker } from '../output/breaker-page.ts'
import { formatHelp, isJson, note, outputOption, say, sayJson } from '../output/output.ts'
import { missingBreaker } from '../../limits/breakers/breaker.ts'
import type { BreakerDetails } from '../../limits/breakers/breaker.ts'
import type { Operator } from '../../client/operator/operator.ts'
import { nounOf } from '../verbs.ts'
import type { Command } from '../verbs.ts'

const help = `stint breaker list     breakers, their state, and how many calls failed lately
stint breaker get      details of one breaker, with its changes of the last 30 days
stint breaker probe    try an open breaker now
stint breaker open     hold its jobs back for a while
stint breaker close    let its jobs run for a while, however many fail
stint breaker reset    close it, end a forced state, and begin to count anew

stint breaker <command> --help has options and examples.`

const common = { ...outputOption, ...databaseOptions, ...helpOption } as const
const reasonOption = { reason: { type: 'string' } } as const
const spanOptions = { for: { type: 'string' }, until: { type: 'string' } } as const

const listHelp = `stint breaker list    breakers by name, their state, and how many calls failed lately

${formatHelp}
${databaseHelp}

Examples
  stint breaker list
  stint breaker list -o json | jq '.[] | select(.state != "closed")'`

async function list(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, common)
  if (values.help) return say(listHelp)
  noMore(positionals)
  const asJson = isJson(values.output)
  const found = await withStint(values, (stint) => stint.breakers.list({ limit: 1_000 }))
  if (asJson) return sayJson(found)
  if (found.length === 0) note('no breakers')
  else say(breakerTable(found, new Date()))
  return 0
}

const getHelp = `stint breaker get NAME    details of one breaker, with its changes of the last 30 days

${formatHelp}
${databaseHelp}

Examples
  stint breaker get smtp
  stint breaker get smtp -o json | jq '.recent[0].cause'`

async function get(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, common)
  if (values.help) return say(getHelp)
  const name = onlyName(positionals)
  const asJson = isJson(values.output)
  const found = await withStint(values, (stint) => stint.breakers.get(name))
  return showBreaker(found ?? missingBreaker(name), asJson)
}

const reasonHelp = `  --reason TEXT         why, for the audit`

const probe = act(
  `stint breaker probe NAME    try an open breaker now: a few jobs run, and if all succeed it closes

${reasonHelp}
${formatHelp}
${databaseHelp}

Examples
  stint breaker probe smtp
  stint breaker probe smtp --reason "the provider says it is back"`,
  (breakers, name, reason) => breakers.probe(name, { reason }),
)

const reset = act(
  `stint breaker reset NAME    close it, end a forced state, and begin to count anew

${reasonHelp}
${formatHelp}
${databaseHelp}

Examples
  stint breaker reset smtp
  stint breaker reset smtp --reason "maintenance is over"`,
  (breakers, name, reason) => breakers.reset(name, { reason }),
)

const spanHelp = `  --for DURATION        how long: 10m
  --until TIME          until this time: 2030-01-31T09:00:00Z
  --reason TEXT         why; shown with the breaker
${formatHelp}
${databaseHelp}`

const open = force(
  `stint breaker open NAME    hold its jobs back for a while, however its downstream is; then it is probed

${spanHelp}

Examples
  stint breaker open smtp --for 30m --reason "maintenance of the provider"
  stint breaker open smtp --until 2030-01-31T09:00:00Z`,
  (breakers, name, span) => breakers.open(name, span),
)

const close = force(
  `stint breaker close NAME    let its jobs run for a while, however many fail; then it counts again

${spanHelp}

Examples
  stint breaker close smtp --for 5m --reason "only old addresses fail"
  stint breaker close smtp --until 2030-01-31T09:00:00Z`,
  (breakers, name, span) => breakers.close(name, span),
)

export const breaker = nounOf(help, { list, get, probe, open, close, reset })

type Verbs = Operator['breakers']

function act(
  verbHelp: string,
  run: (breakers: Verbs, name: string, reason: string | undefined) => Promise<BreakerDetails>,
): Command {
  return async (args) => {
    const { values, positionals } = parse(args, { ...reasonOption, ...common })
    if (values.help) return say(verbHelp)
    const name = onlyName(positionals)
    const asJson = isJson(values.output)
    const found = await withStint(values, (stint) => run(asTyped(stint).breakers, name, values.reason))
    return showBreaker(found, asJson)
  }
}

interface Span {
  for: string | undefined
  until: string | undefined
  reason: string | undefined
}

function force(
  verbHelp: string,
  run: (breakers: Verbs, name: string, span: Span) => Promise<BreakerDetails>,
): Command {
  return async (args) => {
    const { values, positionals } = parse(args, { ...spanOptions, ...reasonOption, ...common })
    if (values.help) return say(verbHelp)
    const name = onlyName(positionals)
    const asJson = isJson(values.output)
    const { for: span, until, reason } = values
    const found = await withStint(values, (stint) =>
      run(asTyped(stint).breakers, name, { for: span, until, reason }),
    )
    return showBreaker(found, asJson)
  }
}

function onlyName([name, ...more]: readonly string[]): string {
  if (name === undefined) throw new UsageError('Missing argument: the name of the breaker.')
  noMore(more)
  return name
}
