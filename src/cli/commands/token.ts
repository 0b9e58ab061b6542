import { durationMs } from '../../core/duration.ts'
import { roles } from '../../server/api/common.ts'
import { makeToken } from '../../server/auth/tokens.ts'
import { choose, helpOption, noMore, parse, UsageError } from '../arguments.ts'
import { facts, formatHelp, isJson, note, outputOption, say, sayJson } from '../output/output.ts'
import { nounOf } from '../verbs.ts'

const help = `stint token new    create a token for the console

stint token new --help has options and examples.`

const newHelp = `stint token new    create a token for the console: the token for its user, and its line for STINT_TOKENS

The line holds only a hash: the token is shown once. Nothing is stored. When it starts, the console reads the lines
in STINT_TOKENS, separated by line breaks or commas.

  --name NAME           the name of its user in the audit: 1 to 64 letters, digits and _ . @ -
  --role ROLE           viewer (read only), operator (also repairs and enqueues) or admin (also edits)
  --expires WHEN        90d (the default), another duration, a time (2030-01-31), or never
${formatHelp}

Examples
  stint token new --name ana --role operator
  stint token new --name billing-service --role operator --expires 365d -o json | jq -r .line >> tokens
  STINT_TOKENS="$(cat tokens)" stint console --host 0.0.0.0`

function make(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    name: { type: 'string' },
    role: { type: 'string' },
    expires: { type: 'string', default: '90d' },
    ...outputOption,
    ...helpOption,
  })
  if (values.help) return Promise.resolve(say(newHelp))
  noMore(positionals)
  const asJson = isJson(values.output)
  if (values.name === undefined) throw new UsageError('Missing option: --name, the user of the token.')
  if (values.role === undefined) throw new UsageError(`Missing option: --role, one of ${roles.join(', ')}.`)
  const { name } = values
  const role = choose('role', values.role, roles)
  const expiresAt = expiryOf(values.expires)
  const { token, line } = makeToken({ name, role, expiresAt })
  if (asJson) return Promise.resolve(sayJson({ token, line, name, role, expiresAt }))
  say(
    facts([
      ['token', token],
      ['line', line],
    ]),
  )
  note('The token is shown only once. Add its line to STINT_TOKENS of the console.')
  return Promise.resolve(0)
}

function expiryOf(text: string): Date | null {
  if (text === 'never') return null
  const ms = durationMs(text)
  const at = ms === undefined ? new Date(text) : new Date(Date.now() + ms)
  if (Number.isNaN(at.getTime()))
    throw new UsageError(`Expected --expires to be a duration, a time or never, got '${text}'.`)
  if (at.getTime() <= Date.now()) throw new UsageError(`--expires ${text} is in the past.`)
  return at
}

export const token = nounOf(help, { new: make })
