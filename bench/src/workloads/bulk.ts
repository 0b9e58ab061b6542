import { compare } from './compare.ts'
import type { Workload } from './workload.ts'

export const bulk: Workload = {
  name: 'bulk',
  title: ({ bulkJobs }) =>
    `${bulkJobs.toLocaleString('en')} jobs through the system's bulk API, in the chunks that it is fastest with`,
  unit: 'jobs/s',
  run(bench) {
    const { bulkJobs, warmUpJobs } = bench.sizes
    return compare(bench, bulk, {
      measure: { type: 'bulk', jobs: bulkJobs, warmUpJobs },
      tunings: (system) => system.tunings.bulk,
    })
  },
}
