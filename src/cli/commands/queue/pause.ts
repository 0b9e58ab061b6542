import { asTyped } from '../../actor.ts'
import { databaseHelp, parse, UsageError } from '../../arguments.ts'
import { withStint } from '../../connect.ts'
import { formatHelp, isJson, say } from '../../output/output.ts'
import { nameOf, options } from './arguments.ts'
import { show } from './show.ts'

const partOptions = { kind: { type: 'string' }, key: { type: 'string' }, reason: { type: 'string' } } as const

const pauseHelp = `stint queue pause NAME    start no more jobs of a queue, or of one kind or key of it; running jobs go on

  --kind KIND           only jobs of this kind
  --key KEY             only jobs with this key
  --for DURATION        how long: 2h
  --until TIME          until this time: 2030-01-31T09:00:00Z
  --reason TEXT         why; required, and shown wherever the pause is shown
${formatHelp}
${databaseHelp}

Examples
  stint queue pause mail --for 2h --reason "the provider is down"
  stint queue pause media --key acme --reason "their uploads are broken"`

export async function pause(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    for: { type: 'string' },
    until: { type: 'string' },
    ...partOptions,
    ...options,
  })
  if (values.help) return say(pauseHelp)
  const asJson = isJson(values.output)
  const name = nameOf(positionals)
  const { kind, key, for: span, until, reason } = values
  if (reason === undefined) throw new UsageError('Say why with --reason: it is shown with the pause.')
  const request = { kind, key, for: span, until, reason }
  return show(await withStint(values, (stint) => asTyped(stint).pauseQueue(name, request)), asJson)
}

const resumeHelp = `stint queue resume NAME    end the pause of a queue, or of one kind or key of it

Each pause ends on its own: a paused key stays paused when its queue is resumed.

  --kind KIND           the pause of this kind
  --key KEY             the pause of this key
  --reason TEXT         why, for the audit
${formatHelp}
${databaseHelp}

Examples
  stint queue resume mail
  stint queue resume media --key acme`

export async function resume(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { ...partOptions, ...options })
  if (values.help) return say(resumeHelp)
  const asJson = isJson(values.output)
  const name = nameOf(positionals)
  const { kind, key, reason } = values
  return show(
    await withStint(values, (stint) => asTyped(stint).resumeQueue(name, { kind, key, reason })),
    asJson,
  )
}
