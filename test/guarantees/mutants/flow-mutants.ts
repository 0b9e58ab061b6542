import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

/** The statements that end a job of a flow, with the part of each that leaves a row for the counts. */
const endings = [
  ...[
    ...['flows/endings/end', 'flows/endings/bury', 'jobs/cancel', 'operations/execute/cancel'],
    ...['limits/policies/over-limit', 'worker/recovery/sweep'],
  ].map((file) => ({
    file,
    from: String.raw`and node is not null\n   group by flow_id, node`,
    to: 'and false group by flow_id, node',
  })),
  {
    file: 'jobs/put-aside',
    from: String.raw`select flow_id, node, 1\n    from gone\n   where `,
    to: 'select flow_id, node, 1 from gone where false and ',
  },
]

export const flowMutants: readonly Mutant[] = [
  {
    id: 'M37',
    what: 'the endings of a flow are counted without its lock',
    caughtBy: 'flow.two-last',
    file: 'schema/migrations/0016_flows.sql.js',
    edits: edit('where f.id = any(flows) for no key update skip locked', 'where f.id = any(flows)'),
  },
  ...endings.map(({ file, from, to }, index): Mutant => ({
    id: `M38${'abcdefg'[index] ?? ''}`,
    what: `${file}.sql ends a job and does not tell its flow`,
    caughtBy: 'flow.endings',
    file: `${file}.sql.js`,
    edits: edit(from, to),
  })),
  ...['end', 'bury'].map((name, index): Mutant => ({
    id: `M39${'ab'[index] ?? ''}`,
    what: `${name} does not check the lease`,
    caughtBy: 'flow.endings',
    file: `flows/endings/${name}.sql.js`,
    edits: edit('and lease_id = any($2::uuid[])', 'and $2::uuid[] is not null'),
  })),
]
