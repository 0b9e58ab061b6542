import { messageOf } from '../../core/failures/thrown.ts'
import { checkedIds } from '../act.ts'
import { asTyped } from '../actor.ts'
import { databaseHelp, databaseOptions, helpOption, noMore, parse, UsageError } from '../arguments.ts'
import { withStint } from '../connect.ts'
import { note, outputHelp, outputOf, outputOption, say, sayJson } from '../output/output.ts'

const signalHelp = `stint job signal ID NAME    send a signal to a job that waits for it, or will

  --payload JSON        what the job gets, at most 64 KiB (default: {})
  --key KEY             a second signal of this name with this key to this job is a duplicate
  --reason TEXT         why, for the audit
${outputHelp}
${databaseHelp}

Examples
  stint job signal 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 approved --payload '{"by": "ana"}'
  stint job signal 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 approved --key order-77`

export async function signal(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    payload: { type: 'string' },
    key: { type: 'string' },
    reason: { type: 'string' },
    ...outputOption,
    ...databaseOptions,
    ...helpOption,
  })
  if (values.help) return say(signalHelp)
  const [first, name, ...more] = positionals
  const [id = ''] = checkedIds(first === undefined ? [] : [first])
  if (name === undefined) throw new UsageError('Missing argument: the name of the signal.')
  noMore(more)
  const output = outputOf(values.output)
  const { key, reason } = values
  const payload = values.payload === undefined ? undefined : jsonOf(values.payload)
  return withStint(values, async (stint) => {
    const sent = await asTyped(stint).signal(id, name, payload, { key, reason })
    if (output === 'json') return sayJson(sent)
    note(sent.duplicate ? 'a signal with this key was sent before; its id:' : 'sent:')
    return say(sent.id)
  })
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new UsageError(`Expected --payload to be JSON: ${messageOf(error)}.`)
  }
}
