import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const waiting = 'schema/migrations/0017_waiting.sql.js'

export const stepMutants: readonly Mutant[] = [
  ...['record', 'record-alone'].map((name, index): Mutant => ({
    id: `M40${'ab'[index] ?? ''}`,
    what: `flows/steps/${name}.sql does not check the lease`,
    caughtBy: 'zombie.steps',
    file: `flows/steps/${name}.sql.js`,
    edits: edit('and lease_id = said.lease', ''),
  })),
  {
    id: 'M40c',
    what: 'a signal is taken without a check of the lease',
    caughtBy: 'zombie.steps',
    file: 'flows/waiting/take-signal.sql.js',
    edits: edit('and lease_id = $2::uuid', 'and $2::uuid is not null'),
  },
  {
    id: 'M40d',
    what: 'a job is suspended without a check of the lease',
    caughtBy: 'zombie.steps',
    file: waiting,
    edits: [...edit('and job.lease_id = s.lease', ''), ...edit('and j.lease_id = item.lease', '')],
  },
  {
    id: 'M41a',
    what: 'a suspend looks for signals without the lock of the signals',
    caughtBy: 'signal.beside-suspend',
    file: waiting,
    edits: edit('and not pg_try_advisory_xact_lock(', 'and false and not pg_try_advisory_xact_lock('),
  },
  {
    id: 'M41b',
    what: 'a signal looks at the job without the lock of the signals',
    caughtBy: 'signal.beside-suspend',
    file: waiting,
    edits: edit('perform pg_advisory_xact_lock(', 'perform ('),
  },
  {
    id: 'M42',
    what: 'a signal wakes a job that does not wait for it',
    caughtBy: 'signal.awaited',
    file: waiting,
    edits: edit(
      '.is_awaited(j.waits, signal.name, signal.payload)',
      '.is_awaited(j.waits, signal.name, signal.payload) is not null',
    ),
  },
  {
    id: 'M43a',
    what: 'a call gets its number after something was awaited',
    caughtBy: 'steps.replayed',
    file: 'worker/attempt/steps/steps.js',
    edits: [
      ...edit('const call = this.#journal.begin(name, type);', 'let call;'),
      ...edit(
        'const done = this.#journal\n            .find(call)',
        'const done = new Promise((go) => setTimeout(go, 9 * Math.random())).then(() => this.#journal.find((call = this.#journal.begin(name, type))))',
      ),
    ],
  },
  {
    id: 'M43b',
    what: 'recorded results are given in the order of the calls',
    caughtBy: 'steps.replayed',
    file: 'worker/attempt/steps/order.js',
    edits: edit("if (this.state === 'expected')", "if ((this.state = 'over') && false)"),
  },
  {
    id: 'M43c',
    what: 'a failure that the handler went past is not remembered',
    caughtBy: 'steps.replayed',
    file: 'worker/attempt/steps/journal.js',
    edits: edit('this.#failed.push(call);', ';'),
  },
  ...['flows/endings/end', 'flows/endings/bury', 'worker/recovery/sweep'].map((file, index): Mutant => ({
    id: `M44${'abc'[index] ?? ''}`,
    what: `${file}.sql does not keep the result for other jobs`,
    caughtBy: 'flow.endings',
    file: `${file}.sql.js`,
    edits: edit('and member is not null', 'and false'),
  })),
]
