import { asTyped } from '../../actor.ts'
import { databaseHelp, noMore, parse, UsageError } from '../../arguments.ts'
import { withStint } from '../../connect.ts'
import { moment } from '../../output/format.ts'
import { facts, formatHelp, isJson, say, sayJson } from '../../output/output.ts'
import { nameOf, options } from './arguments.ts'

const concurrencyHelp = `stint queue concurrency NAME [N]    how many jobs of it each running worker runs at once, instead of what its code says

Without N it shows what is set. Workers follow within their poll interval, 1 s unless their code says otherwise.

  --for DURATION        how long: 2h
  --until TIME          until this time: 2030-01-31T09:00:00Z
  --clear               workers run as many as their code says
  --reason TEXT         why
${formatHelp}
${databaseHelp}

Examples
  stint queue concurrency mail 2 --for 1h --reason "the mail server is slow"
  stint queue concurrency mail --clear`

export async function concurrency(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    for: { type: 'string' },
    until: { type: 'string' },
    clear: { type: 'boolean' },
    reason: { type: 'string' },
    ...options,
  })
  if (values.help) return say(concurrencyHelp)
  const asJson = isJson(values.output)
  const [queueName, count, ...more] = positionals
  const name = nameOf(queueName === undefined ? [] : [queueName])
  noMore(more)
  const { for: span, until, clear = false, reason } = values
  if (clear && count !== undefined) throw new UsageError('Pass a number or --clear, not both.')
  const found = await withStint(values, async (stint) => {
    if (clear) await asTyped(stint).clearConcurrency(name, { reason })
    else if (count !== undefined)
      await asTyped(stint).setConcurrency(name, { concurrency: Number(count), for: span, until, reason })
    return stint.queues.concurrency(name)
  })
  if (asJson) return sayJson(found)
  if (found === null) return say(`${name}: what the code of each worker says`)
  return say(
    facts([
      ['queue', name],
      ['concurrency', `${found.concurrency} in each worker`],
      ['until', found.until === null ? 'cleared' : moment(found.until, new Date())],
      ['reason', found.reason ?? ''],
    ]),
  )
}
