import { asTyped } from '../actor.ts'
import { databaseHelp, databaseOptions, helpOption, noMore, parse, UsageError } from '../arguments.ts'
import { withStint } from '../connect.ts'
import { span } from '../output/format.ts'
import { formatHelp, isJson, note, outputOption, say, sayJson, table } from '../output/output.ts'
import { nounOf } from '../verbs.ts'

const help = `stint worker list      live workers, and what they were asked to do
stint worker pause     a worker claims nothing and finishes what runs
stint worker resume    a paused worker works again
stint worker drain     a worker stops in order

stint worker <command> --help has options and examples.`

const listHelp = `stint worker list    live workers, oldest first; WANTED is what a person asked of them

${formatHelp}
${databaseHelp}

Examples
  stint worker list
  stint worker list -o json | jq -r '.[] | select(.wanted != null) | .id'`

async function list(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { ...outputOption, ...databaseOptions, ...helpOption })
  if (values.help) return say(listHelp)
  noMore(positionals)
  const asJson = isJson(values.output)
  const found = await withStint(values, (stint) => stint.workers.list())
  if (asJson) return sayJson(found)
  if (found.length === 0) {
    note('no live worker')
    return 0
  }
  const rows = found.map((worker) => [
    worker.id,
    `${worker.host ?? '?'}/${worker.pid ?? '?'}`,
    Object.entries(worker.queues)
      .map(([queue, slots]) => `${queue}×${slots}`)
      .join(' '),
    span(Math.max(0, Date.now() - worker.startedAt.getTime())),
    worker.wanted === null
      ? ''
      : { text: wantedText(worker.wanted.state, worker.wanted.reason), style: 'yellow' as const },
  ])
  return say(table(['WORKER', 'HOST/PID', 'QUEUES', '>UP', 'WANTED'], rows, { spare: ['UP'] }))
}

function wantedText(state: string, reason: string | null): string {
  return reason === null ? state : `${state}: ${reason}`
}

type Verb = 'pause' | 'resume' | 'drain'

const texts: Readonly<Record<Verb, { does: string; done: string; example: string }>> = {
  pause: {
    does: 'it claims nothing and finishes the jobs that run, until it is resumed',
    done: 'paused',
    example: '--reason "looking at its memory"',
  },
  resume: { does: 'a paused worker works again', done: 'resumed', example: '' },
  drain: {
    does: 'it stops as on SIGTERM: running jobs get its drain time; cannot be undone',
    done: 'asked to stop',
    example: '--reason "the node goes away"',
  },
}

function order(verb: Verb): (args: readonly string[]) => Promise<number> {
  const { does, done, example } = texts[verb]
  const verbHelp = `stint worker ${verb} ID    ${does}

  --reason TEXT         why, for the audit
${databaseHelp}

Examples
  stint worker ${verb} 0b7c1c3e-5d1f-4c8e-9a57-3f6f0d1c2b4a ${example}`.trimEnd()
  return async (args) => {
    const { values, positionals } = parse(args, {
      reason: { type: 'string' },
      ...databaseOptions,
      ...helpOption,
    })
    if (values.help) return say(verbHelp)
    const [id, ...more] = positionals
    if (id === undefined)
      throw new UsageError('Missing argument: the id of the worker; stint worker list shows it.')
    noMore(more)
    await withStint(values, (stint) => asTyped(stint).workers[verb](id, { reason: values.reason }))
    note(`${done}: ${id}; it follows within its poll interval, 1 s unless its code says otherwise`)
    return 0
  }
}

export const worker = nounOf(help, {
  list,
  pause: order('pause'),
  resume: order('resume'),
  drain: order('drain'),
})
