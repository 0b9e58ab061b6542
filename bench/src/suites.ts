import { bulk } from './workloads/bulk.ts'
import { claimDepth } from './workloads/claim-depth.ts'
import { depth } from './workloads/depth.ts'
import { drain } from './workloads/drain.ts'
import { fires } from './workloads/fires.ts'
import { held } from './workloads/held.ts'
import { idle } from './workloads/idle.ts'
import { inTx } from './workloads/in-tx.ts'
import { latency } from './workloads/latency.ts'
import { lone } from './workloads/lone.ts'
import { memory } from './workloads/memory.ts'
import { processes } from './workloads/processes.ts'
import { single20 } from './workloads/single20.ts'
import { steady } from './workloads/steady.ts'
import type { Workload } from './workloads/workload.ts'

/** What `npm run bench -- <suite>` runs and which section of docs/benchmarks.md it rewrites. */
export interface Suite {
  name: string
  title: string
  /** Which of a system's settings it is about. */
  about: 'enqueue' | 'work'
  /** What must be true for a figure to count, said on the page. */
  rule: string
  workloads: readonly Workload[]
}

const storedRule =
  'A figure counts only if the store was then found to hold exactly the jobs that were acknowledged.'
const drainedRule =
  'A figure counts only if each job ran once and the store was then found to have none left and, where history is\n' +
  'kept, each of them as finished. One that was cut by its time limit says so.'
const startedRule = 'A figure counts only if each job that was enqueued started once.'

export const suites: readonly Suite[] = [
  {
    name: 'enqueue',
    title: 'Enqueue',
    about: 'enqueue',
    rule: storedRule,
    workloads: [single20, lone, bulk, inTx, depth],
  },
  { name: 'drain', title: 'Drain', about: 'work', rule: drainedRule, workloads: [drain] },
  { name: 'held', title: 'Drain under a held snapshot', about: 'work', rule: drainedRule, workloads: [held] },
  { name: 'latency', title: 'Enqueue to start', about: 'work', rule: startedRule, workloads: [latency] },
  { name: 'steady', title: 'Steady load', about: 'work', rule: startedRule, workloads: [steady] },
  {
    name: 'fires',
    title: 'Lateness of fires',
    about: 'work',
    rule: 'A figure counts only if each time of the schedules started one job, and none was left out.',
    workloads: [fires],
  },
  {
    name: 'idle',
    title: 'Idle worker',
    about: 'work',
    rule: 'Nothing is enqueued here; what a timer asks for does not vary, so there is one round.',
    workloads: [idle],
  },
  {
    name: 'scale',
    title: 'Scale',
    about: 'work',
    rule: drainedRule,
    workloads: [processes, claimDepth, memory],
  },
]
