import { bulk } from './workloads/bulk.ts'
import { depth } from './workloads/depth.ts'
import { inTx } from './workloads/in-tx.ts'
import { lone } from './workloads/lone.ts'
import { single20 } from './workloads/single20.ts'
import type { Workload } from './workloads/workload.ts'

/** What `npm run bench -- <suite>` runs and which section of docs/benchmarks.md it rewrites. */
export interface Suite {
  name: string
  title: string
  workloads: readonly Workload[]
}

export const suites: readonly Suite[] = [
  { name: 'enqueue', title: 'Enqueue', workloads: [single20, lone, bulk, inTx, depth] },
]
