import { backpressure } from './workloads/backpressure.ts'
import { bulk } from './workloads/bulk.ts'
import { claimDepth } from './workloads/claim-depth.ts'
import { depth } from './workloads/depth.ts'
import { drain } from './workloads/drain.ts'
import { fires } from './workloads/fires.ts'
import { held } from './workloads/held.ts'
import { idle } from './workloads/idle.ts'
import { inTx } from './workloads/in-tx.ts'
import { keyed } from './workloads/keyed.ts'
import { latency } from './workloads/latency.ts'
import { lone } from './workloads/lone.ts'
import { memory } from './workloads/memory.ts'
import { paused } from './workloads/paused.ts'
import { processes } from './workloads/processes.ts'
import { single20 } from './workloads/single20.ts'
import { slowJobs } from './workloads/slow-jobs.ts'
import { steady } from './workloads/steady.ts'
import { tokens } from './workloads/tokens.ts'
import type { Workload } from './workloads/workload.ts'

/** What `npm run bench -- <suite>` runs and which section of docs/benchmarks.md it rewrites. */
export interface Suite {
  name: string
  title: string
  /** The condition for a figure to count, printed on the page. */
  rule: string
  workloads: readonly Workload[]
}

const storedRule = 'A figure counts only if the store then holds exactly the jobs that were acknowledged.'
const drainedRule =
  'A figure counts only if each job ran once, the store has none left and, where history is kept, has each of them as\n' +
  'finished. A row that was cut by its time limit says so.'
const enqueuedRule =
  'One of enqueues counts only if the store then holds exactly the jobs that were acknowledged.'
const startedRule = 'A figure counts only if each enqueued job started once.'

export const suites: readonly Suite[] = [
  {
    name: 'enqueue',
    title: 'Enqueue',
    rule: storedRule,
    workloads: [single20, lone, bulk, inTx, depth],
  },
  { name: 'drain', title: 'Drain', rule: drainedRule, workloads: [drain] },
  { name: 'held', title: 'Drain under a held snapshot', rule: drainedRule, workloads: [held] },
  {
    name: 'flow-control',
    title: 'Flow control',
    rule: `${drainedRule}\n${enqueuedRule}`,
    workloads: [keyed, slowJobs, tokens, backpressure, paused],
  },
  { name: 'latency', title: 'Enqueue to start', rule: startedRule, workloads: [latency] },
  { name: 'steady', title: 'Steady load', rule: startedRule, workloads: [steady] },
  {
    name: 'fires',
    title: 'Lateness of fires',
    rule: 'A figure counts only if each time of each schedule started exactly one job.',
    workloads: [fires],
  },
  {
    name: 'idle',
    title: 'Idle worker',
    rule: 'Nothing is enqueued here. The requests of a timer do not vary, so one round is enough.',
    workloads: [idle],
  },
  {
    name: 'scale',
    title: 'Scale',
    rule: drainedRule,
    workloads: [processes, claimDepth, memory],
  },
]
