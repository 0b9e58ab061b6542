import { missingFlow } from '../../client/flows/flow-verbs.ts'
import type { Stint } from '../../client/stint.ts'
import type { Flow } from '../../flows/graph/read.ts'
import { flowTypes } from '../../flows/graph/read.ts'
import { isUuid } from '../../core/uuid.ts'
import { asTyped } from '../actor.ts'
import {
  choose,
  databaseHelp,
  databaseOptions,
  helpOption,
  noMore,
  parse,
  UsageError,
  wholeNumber,
} from '../arguments.ts'
import { withStint } from '../connect.ts'
import { exitCodes } from '../output/errors.ts'
import { flowGraph } from '../output/flow-graph.ts'
import { flowPage, flowTable } from '../output/flow-page.ts'
import {
  formatHelp,
  isJson,
  note,
  outputHelp,
  outputOf,
  outputOption,
  say,
  sayJson,
  terminalWidth,
} from '../output/output.ts'
import { nounOf } from '../verbs.ts'

const help = `stint flow list      flows, newest first
stint flow get       details of one flow, with its nodes
stint flow graph     draw a flow
stint flow cancel    cancel a flow: jobs that have not started end, running ones are asked to stop
stint flow replay    run the dead jobs of a flow again
stint flow rerun     run a flow again from a node on, as a new flow

stint flow <command> --help has options and examples.`

const common = { ...outputOption, ...databaseOptions, ...helpOption } as const

const listHelp = `stint flow list    flows, newest first

  --open                only flows that have not ended
  --name NAME           of this name
  --type TYPE           flow (default); children: the jobs that a handler made
  --limit N             flows per page, 1 to 200 (default: 50)
  --cursor ID           continue after the page that printed this cursor
${outputHelp}
${databaseHelp}

States: open, held (what waits for a dead job waits for its replay), ended, cancelled.

Examples
  stint flow list --open
  stint flow list --name checkout -o json | jq '.flows[] | select(.state == "held")'`

async function list(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    open: { type: 'boolean', default: false },
    name: { type: 'string' },
    type: { type: 'string' },
    limit: { type: 'string' },
    cursor: { type: 'string' },
    ...common,
  })
  if (values.help) return say(listHelp)
  noMore(positionals)
  const output = outputOf(values.output)
  const { name, open, cursor } = values
  const limit = values.limit === undefined ? undefined : wholeNumber('--limit', values.limit)
  const type = values.type === undefined ? undefined : choose('type', values.type, flowTypes)
  const page = await withStint(values, (stint) => stint.flows.list({ name, open, type, limit, cursor }))
  if (output === 'json') return sayJson(page)
  if (output === 'id') for (const { id } of page.flows) say(id)
  else if (page.flows.length > 0) say(flowTable(page.flows, new Date()))
  if (page.flows.length === 0)
    note(page.next === undefined ? 'no flows' : 'no match in the flows searched so far')
  if (page.next !== undefined) note(`more: --cursor ${page.next}`)
  return 0
}

const getHelp = `stint flow get ID    details of one flow: its nodes, how their jobs ended, and what each waits for

${outputHelp}
${databaseHelp}

Examples
  stint flow get 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4
  stint flow get 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 -o json | jq '.nodes[] | select(.dead > 0)'`

async function get(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, common)
  if (values.help) return say(getHelp)
  const id = onlyId(positionals)
  const output = outputOf(values.output)
  const found = await withStint(values, (stint) => findFlow(stint, id))
  if (output === 'json') return sayJson(found)
  return say(output === 'id' ? found.id : flowPage(found, new Date()))
}

const graphHelp = `stint flow graph ID    draw a flow: its nodes from left to right, and what each waits for

A flow that is wider than the terminal is drawn as a list, in the order in which its nodes can start.

${formatHelp}
${databaseHelp}

Examples
  stint flow graph 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4
  stint flow graph 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 -o json | jq '.nodes[].jobs'`

async function graph(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, common)
  if (values.help) return say(graphHelp)
  const id = onlyId(positionals)
  const asJson = isJson(values.output)
  return withStint(values, async (stint) => {
    if (asJson) return sayJson((await stint.flows.graph(id)) ?? missingFlow(id))
    return say(flowGraph(await findFlow(stint, id), { width: terminalWidth(), now: new Date() }))
  })
}

const actHelp = `  --reason TEXT         why, for the audit
  --dry-run             show what would be done, without doing it
${outputHelp}
${databaseHelp}`
const actOptions = {
  reason: { type: 'string' },
  'dry-run': { type: 'boolean', default: false },
  ...common,
} as const

const cancelHelp = `stint flow cancel ID    cancel a flow: jobs that have not started end, running ones are asked to stop

This cannot be undone. Use --dry-run to see how many jobs would end.

${actHelp}

Examples
  stint flow cancel 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --reason "order withdrawn"
  stint flow cancel 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --dry-run`

async function cancel(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, actOptions)
  if (values.help) return say(cancelHelp)
  const id = onlyId(positionals)
  const output = outputOf(values.output)
  const { reason, 'dry-run': isDryRun } = values
  return withStint(values, async (stint) => {
    if (isDryRun) {
      const flow = await findFlow(stint, id)
      if (flow.state === 'ended') {
        note(`stint: Flow ${id} '${flow.name}' has ended: nothing is left to cancel. (flow-ended)`)
        return exitCodes.refused
      }
      showFlow(flow, output)
      note(`would end: ${sumOf(flow, 'remaining')} jobs`)
      return exitCodes.ok
    }
    showFlow(await asTyped(stint).flows.cancel(id, { reason }), output)
    note('cancelled: its jobs end within seconds')
    return exitCodes.ok
  })
}

const replayHelp = `stint flow replay ID    run the dead jobs of a flow again, and those of the flows that they made

Each job keeps its id and its recorded steps. What waits for it goes on once it succeeds.

${actHelp}

Examples
  stint flow replay 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --reason "fixed in v215"
  stint flow replay 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --dry-run`

async function replay(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, actOptions)
  if (values.help) return say(replayHelp)
  const id = onlyId(positionals)
  const output = outputOf(values.output)
  const { reason, 'dry-run': isDryRun } = values
  return withStint(values, async (stint) => {
    if (isDryRun) {
      const flow = await findFlow(stint, id)
      showFlow(flow, output)
      note(`would be replayed: ${sumOf(flow, 'dead')} dead jobs, and those of the flows that they made`)
      return exitCodes.ok
    }
    const { flow, replayed } = await asTyped(stint).flows.replay(id, { reason })
    if (output === 'json') sayJson({ ...flow, replayed })
    else if (output === 'id') for (const job of replayed) say(job)
    else say(flowPage(flow, new Date()))
    note(`replayed: ${replayed.length}`)
    return exitCodes.ok
  })
}

const rerunHelp = `stint flow rerun ID --from NODE    run a flow again from a node on, as a new flow

The outputs of the nodes before are copied. The old flow stays as it is.

  --from NODE         the name of the node to begin at
${actHelp}

Examples
  stint flow rerun 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --from tax --reason "rates corrected"
  stint flow rerun 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --from tax --dry-run`

async function rerun(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, { ...actOptions, from: { type: 'string' } })
  if (values.help) return say(rerunHelp)
  const id = onlyId(positionals)
  const output = outputOf(values.output)
  const { reason, from, 'dry-run': isDryRun } = values
  if (from === undefined) throw new UsageError('Missing option --from NODE.')
  return withStint(values, async (stint) => {
    const older = await findFlow(stint, id)
    if (!older.nodes.some(({ name }) => name === from)) {
      const names = older.nodes.map(({ name }) => name).join(', ')
      throw new UsageError(`Flow ${id} has no node '${from}'. Nodes: ${names}.`)
    }
    if (isDryRun) {
      showFlow(older, output)
      note(`would be run again from '${from}', as a new flow`)
      return exitCodes.ok
    }
    const { id: newer } = await asTyped(stint).flows.rerun(id, { from, reason })
    showFlow(await findFlow(stint, newer), output)
    note(`stored: it runs again from '${from}'`)
    return exitCodes.ok
  })
}

export const flow = nounOf(help, { list, get, graph, cancel, replay, rerun })

function showFlow(found: Flow, output: ReturnType<typeof outputOf>): void {
  if (output === 'json') sayJson(found)
  else say(output === 'id' ? found.id : flowPage(found, new Date()))
}

function sumOf({ nodes }: Flow, count: 'remaining' | 'dead'): number {
  return nodes.reduce((sum, node) => sum + node[count], 0)
}

async function findFlow(stint: Stint, id: string): Promise<Flow> {
  return (await stint.flows.get(id)) ?? missingFlow(id)
}

function onlyId([id, ...more]: readonly string[]): string {
  if (id === undefined) throw new UsageError('Missing argument: the id of the flow.')
  noMore(more)
  const isId: boolean = isUuid(id)
  if (!isId) throw new UsageError(`Expected a flow id (a whole UUID), got '${id}'.`)
  return id
}
