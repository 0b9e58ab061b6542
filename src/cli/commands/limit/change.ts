import { missingLimit } from '../../../client/limits.ts'
import type { Stint } from '../../../client/stint.ts'
import { asTyped } from '../../actor.ts'
import { databaseHelp, parse, UsageError, wholeNumber } from '../../arguments.ts'
import { withStint } from '../../connect.ts'
import { keyRuleTable, showLimit } from '../../output/limit-page.ts'
import { formatHelp, isJson, note, say, sayJson } from '../../output/output.ts'
import { changeHelp, changeOptions, endOptions, nameAndKey, onlyName, wanted } from './arguments.ts'

const setHelp = `stint limit set NAME    override a limit or a rate for all workers; the rule in code holds again when it ends

  --max N               jobs at once, for a concurrency limit; 0: none starts
  --tokens N            tokens per period, for a rate
  --for DURATION        how long: 2h
  --until TIME          until this time: 2030-01-31T09:00:00Z; or cleared: until stint limit clear
${changeHelp}
${formatHelp}
${databaseHelp}

Examples
  stint limit set media/tenant --max 10 --for 2h --reason "backlog after the outage"
  stint limit set openai --tokens 30000 --until cleared`

export async function set(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    max: { type: 'string' },
    tokens: { type: 'string' },
    ...endOptions,
    ...changeOptions,
  })
  if (values.help) return say(setHelp)
  const name = onlyName(positionals)
  const asJson = isJson(values.output)
  const { for: span, until, reason } = values
  const [max, tokens] = [optionalNumber('--max', values.max), optionalNumber('--tokens', values.tokens)]
  if ((max === undefined) === (tokens === undefined)) throw new UsageError('Pass --max or --tokens.')
  if ((span === undefined) === (until === undefined))
    throw new UsageError("Pass --for or --until; --until cleared lasts until 'stint limit clear'.")
  return withStint(values, async (stint) => {
    if (values['dry-run'])
      return rehearse(stint, name, `would be set to ${wanted({ max, tokens, for: span, until })}`)
    return showLimit(
      await asTyped(stint).limits.override(name, { max, tokens, for: span, until, reason }),
      asJson,
    )
  })
}

const clearHelp = `stint limit clear NAME    end the override of a limit or a rate

${changeHelp}
${formatHelp}
${databaseHelp}

Examples
  stint limit clear media/tenant
  stint limit clear openai --reason "quota is back"`

export async function clear(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, changeOptions)
  if (values.help) return say(clearHelp)
  const name = onlyName(positionals)
  const asJson = isJson(values.output)
  const { reason } = values
  return withStint(values, async (stint) => {
    if (values['dry-run']) return rehearse(stint, name, 'would have no override')
    return showLimit(await asTyped(stint).limits.clear(name, { reason }), asJson)
  })
}

const keyHelp = `stint limit key NAME KEY    give one key of a limit a maximum, a weight or a tier of its own

It replaces an earlier rule of the key. Without --for and --until it lasts until it is cleared.

  --max N               jobs of this key at once; 0: none starts
  --weight N            its share of the slots among the keys of the queue, 1 to 1,000
  --tier TIER           the maximum of this tier of the limit, instead of --max
  --for DURATION        how long: 2h
  --until TIME          until this time: 2030-01-31T09:00:00Z
  --clear               remove the rule of the key
${changeHelp}
${formatHelp}
${databaseHelp}

Examples
  stint limit key media/tenant acme --tier gold --reason "paid plan"
  stint limit key media/tenant acme --clear`

export async function key(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    max: { type: 'string' },
    weight: { type: 'string' },
    tier: { type: 'string' },
    clear: { type: 'boolean', default: false },
    ...endOptions,
    ...changeOptions,
  })
  if (values.help) return say(keyHelp)
  const [name, ofKey] = nameAndKey(positionals)
  const asJson = isJson(values.output)
  const { tier, for: span, until, reason } = values
  const own = {
    max: optionalNumber('--max', values.max),
    weight: optionalNumber('--weight', values.weight),
    tier,
    for: span,
    until,
  }
  const isEmpty = own.max === undefined && own.weight === undefined && tier === undefined
  if (values.clear !== isEmpty) throw new UsageError('Pass --max, --weight or --tier; or only --clear.')
  return withStint(values, async (stint) => {
    const { limits } = asTyped(stint)
    if (values['dry-run'])
      return rehearse(stint, name, `${ofKey} would have ${values.clear ? 'no rule' : wanted(own)}`)
    if (values.clear) {
      await limits.clearKey(name, ofKey, { reason })
      note(`'${ofKey}' has no rule of its own in '${name}'`)
      return 0
    }
    const rule = await limits.setKey(name, ofKey, { ...own, reason })
    return asJson ? sayJson(rule) : say(keyRuleTable([rule], new Date()))
  })
}

const penaliseHelp = `stint limit penalise NAME    give no token of a rate until a time, in all processes

  --for DURATION        how long: 20s
  --until TIME          until this time: 2030-01-31T09:00:00Z
  --key KEY             the bucket, of a rate by key
${changeHelp}
${formatHelp}
${databaseHelp}

Examples
  stint limit penalise openai --for 20s --reason "answers 429"
  stint limit penalise openai --key acme --for 5m`

export async function penalise(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { key: { type: 'string' }, ...endOptions, ...changeOptions })
  if (values.help) return say(penaliseHelp)
  const name = onlyName(positionals)
  const asJson = isJson(values.output)
  const { key: ofKey, for: span, until, reason } = values
  if ((span === undefined) === (until === undefined)) throw new UsageError('Pass --for or --until.')
  return withStint(values, async (stint) => {
    if (values['dry-run'])
      return rehearse(stint, name, `would give no token ${wanted({ key: ofKey, for: span, until })}`)
    const change = { key: ofKey, for: span, until, reason }
    return showLimit(await asTyped(stint).limits.penalise(name, change), asJson)
  })
}

const deleteHelp = `stint limit delete NAME    delete a limit or a rate with its key rules

A limit that live workers have in their code cannot be deleted: remove it there, or override it.

${changeHelp}
${formatHelp}
${databaseHelp}

Examples
  stint limit delete media/tenant
  stint limit delete openai --dry-run`

export async function remove(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, changeOptions)
  if (values.help) return say(deleteHelp)
  const name = onlyName(positionals)
  isJson(values.output)
  return withStint(values, async (stint) => {
    if (values['dry-run']) return rehearse(stint, name, 'would be deleted')
    await asTyped(stint).limits.delete(name, { reason: values.reason })
    note(`'${name}' is gone`)
    return 0
  })
}

async function rehearse(stint: Stint, name: string, text: string): Promise<number> {
  const found = (await stint.limits.get(name)) ?? missingLimit(name)
  note(`'${found.name}': ${text}`)
  return 0
}

function optionalNumber(option: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : wholeNumber(option, text)
}
