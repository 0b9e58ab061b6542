import type { Script } from '../db/statement.ts'
import { jobsScript } from './migrations/0001_jobs.sql.ts'
import { enqueueScript } from './migrations/0002_enqueue.sql.ts'
import { enqueueFromSqlScript } from './migrations/0003_enqueue_from_sql.sql.ts'
import { workerScript } from './migrations/0004_worker.sql.ts'
import { troubleScript } from './migrations/0005_trouble.sql.ts'
import { schedulesScript } from './migrations/0006_schedules.sql.ts'
import { upkeepScript } from './migrations/0007_upkeep.sql.ts'
import { numbersScript } from './migrations/0008_numbers.sql.ts'
import { databaseUpkeepScript } from './migrations/0009_database_upkeep.sql.ts'
import { consoleScript } from './migrations/0010_console.sql.ts'
import { fireHistoryScript } from './migrations/0011_fire_history.sql.ts'
import { workerClockScript } from './migrations/0012_worker_clock.sql.ts'
import { enqueueLikeTheLibraryScript } from './migrations/0013_enqueue_like_the_library.sql.ts'
import { settledCountsScript } from './migrations/0014_settled_counts.sql.ts'
import { untrustedRowsScript } from './migrations/0015_untrusted_rows.sql.ts'
import { consoleSessionsScript } from './migrations/0016_console_sessions.sql.ts'
import { invalidRowScript } from './migrations/0017_invalid_row.sql.ts'
import { operationFateScript } from './migrations/0018_operation_fate.sql.ts'
import { askedFiresScript } from './migrations/0019_asked_fires.sql.ts'

export interface Migration {
  version: number
  script: Script
}

/** In order, forward only, never edited once released. */
export const migrations: readonly Migration[] = [
  jobsScript,
  enqueueScript,
  enqueueFromSqlScript,
  workerScript,
  troubleScript,
  schedulesScript,
  upkeepScript,
  numbersScript,
  databaseUpkeepScript,
  consoleScript,
  fireHistoryScript,
  workerClockScript,
  enqueueLikeTheLibraryScript,
  settledCountsScript,
  untrustedRowsScript,
  consoleSessionsScript,
  invalidRowScript,
  operationFateScript,
  askedFiresScript,
].map((script, index) => ({ version: index + 1, script }))

export const latestVersion = migrations.length
