import type { Script } from '../db/statement.ts'
import { jobTablesScript } from './migrations/0001_job_tables.sql.ts'
import { enqueueScript } from './migrations/0002_enqueue.sql.ts'
import { enqueueFromSqlScript } from './migrations/0003_enqueue_from_sql.sql.ts'
import { historyScript } from './migrations/0004_history.sql.ts'
import { workersScript } from './migrations/0005_workers.sql.ts'
import { numbersScript } from './migrations/0006_numbers.sql.ts'
import { schedulesScript } from './migrations/0007_schedules.sql.ts'
import { operationsScript } from './migrations/0008_operations.sql.ts'
import { pausesScript } from './migrations/0009_pauses.sql.ts'
import { ratesScript } from './migrations/0010_rates.sql.ts'
import { limitsScript } from './migrations/0011_limits.sql.ts'
import { claimLimitedScript } from './migrations/0012_claim_limited.sql.ts'
import { breakersScript } from './migrations/0013_breakers.sql.ts'
import { pressureScript } from './migrations/0014_pressure.sql.ts'
import { stepsScript } from './migrations/0015_steps.sql.ts'
import { flowsScript } from './migrations/0016_flows.sql.ts'
import { waitingScript } from './migrations/0017_waiting.sql.ts'
import { childrenScript } from './migrations/0018_children.sql.ts'
import { flowBuilderScript } from './migrations/0019_flow_builder.sql.ts'

export interface Migration {
  version: number
  script: Script
}

/** In order, forward only, never edited once released. */
export const migrations: readonly Migration[] = [
  jobTablesScript,
  enqueueScript,
  enqueueFromSqlScript,
  historyScript,
  workersScript,
  numbersScript,
  schedulesScript,
  operationsScript,
  pausesScript,
  ratesScript,
  limitsScript,
  claimLimitedScript,
  breakersScript,
  pressureScript,
  stepsScript,
  flowsScript,
  waitingScript,
  childrenScript,
  flowBuilderScript,
].map((script, index) => ({ version: index + 1, script }))

export const latestVersion = migrations.length
