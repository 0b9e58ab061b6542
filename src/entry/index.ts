export { Stint } from '../client/stint.ts'
export type {
  EnqueuedJob,
  EnqueuedJobs,
  EnqueueManyOptions,
  EnqueueOptions,
  Progress,
} from '../client/enqueuer.ts'

export type { GetOptions } from '../client/calls.ts'
export type { DeadLetter, DeadLetters, EditOptions, ReplayOptions } from '../client/dead-letters.ts'
export type { ListDeadOptions } from '../client/dead-letter-options.ts'
export type { DoctorOptions } from '../client/doctor-options.ts'
export type { JobOptions } from '../intake/enqueue-options.ts'
export type { ErrorGroups, ListErrorsOptions } from '../client/error-groups.ts'
export type { ListOptions } from '../client/list-options.ts'
export type { LogsOptions } from '../client/log-options.ts'
export type { BlobOptions } from '../intake/blob-options.ts'
export type { AmbientOptions, StintOptions } from '../client/options.ts'
export type { Queues, SetQueueOptions } from '../client/queues.ts'
export type { GaugesOptions, QueueFlow, Stats, StatsOptions } from '../client/stats.ts'
export type { Overview, QueuesOverview, View } from '../client/view.ts'
export type { Fleet, Leases, LeaseView, WorkerView } from '../view/fleet.ts'
export type { JobGlance, OperationGlance } from '../view/glances.ts'
export type { QueueHour } from '../view/last-hour.ts'
export type { KindView, QueueDetails } from '../view/queue.ts'
export type { CappedCount } from '../view/dead-counts.ts'
export type { QueueView } from '../view/queues.ts'
export type { MergedSeries, SeriesPoint } from '../view/series.ts'
export type { SystemView } from '../view/server.ts'
export type { Totals } from '../view/totals.ts'
export type { DeadlyError, StoppedOperation, Trouble, TroubledSchedule } from '../view/trouble.ts'
export type { QueueState, Status } from '../client/status.ts'
export type { BlobStore } from '../blobs/store.ts'
export { fileBlobStore } from '../blobs/file-store.ts'
export type { FileBlobStoreOptions } from '../blobs/file-store.ts'
export type { PruneResult } from '../blobs/prune.ts'
export { defineJob, typed } from '../contracts/define-job.ts'
export type {
  Backoff,
  ClassRuleOptions,
  ConflictPolicy,
  EnqueueArguments,
  FailureClass,
  InputOf,
  JobContract,
  JobDefinition,
  OutputOf,
  ParsedInputOf,
  RetryOptions,
  SearchTokens,
  UniqueOptions,
} from '../contracts/contract.ts'
export type { Duration } from '../core/duration.ts'
export { defineSchedule } from '../schedules/define-schedule.ts'
export type {
  MissedOptions,
  MissedPolicy,
  OverlapPolicy,
  Schedule,
  ScheduleDefinition,
  ScheduledJobOptions,
} from '../schedules/define-schedule.ts'
export type { RuleOptions } from '../schedules/rule.ts'
export type { Fire, FireOutcome, ScheduleDetails, ScheduleInfo } from '../schedules/read.ts'
export type {
  BackfilledFire,
  BackfillOptions,
  NextFire,
  RanSchedule,
  Schedules,
} from '../client/schedules.ts'
export type { CheckName } from '../doctor/checks.ts'
export type { Examination } from '../doctor/examine.ts'
export type { Finding, Level } from '../doctor/finding.ts'
export { isStintError, StintError } from '../core/errors.ts'
export type { ErrorCode, Issue } from '../core/errors.ts'
export type { Job, JobProgress, JobState, JobSummary } from '../core/job.ts'
export type { PgTransaction, Send, TxAdapter } from '../db/foreign-tx.ts'
export type { Attempt } from '../jobs/attempts.ts'
export type { DeadLetterFacts, DeadLetterPage, DeadLetterSummary, DeadReason } from '../jobs/list-dead.ts'
export type { JobPage } from '../jobs/list.ts'
export type { LogLine } from '../jobs/logs.ts'
export type { ErrorGroup, ErrorGroupSummary, ErrorHour } from '../numbers/error-groups.ts'
export type { ErrorStatus } from '../core/error-status.ts'
export type {
  Percentiles,
  QueueGauge,
  StatCounts,
  StatPoint,
  StatSeries,
  StatSummary,
} from '../numbers/read-stats.ts'
export type { QueueSettings } from '../queues/settings.ts'
export type { Count, QueueStatus } from '../queues/status.ts'
export type { LiveWorker } from '../queues/workers.ts'
export type { LeaderStatus, ServiceStatus, UpkeepStatus } from '../upkeep/status.ts'
export type { AppliedMigration, MigrateOptions, MigrateResult, MigrationStatus } from '../schema/migrate.ts'
export type { AuditEntry, AuditPage, Origin } from '../audit/audit.ts'
export type { Actor } from '../client/actor.ts'
export type { Expect } from '../client/act.ts'
export type { Audit, ListAuditOptions } from '../client/audit.ts'
export type { When } from '../client/job-verbs.ts'
export type {
  ListOperationJobsOptions,
  ListOperationsOptions,
  PreviewOptions,
  StartOptions,
} from '../client/operation-options.ts'
export type { OperationInfo, Operations, Preview } from '../client/operations.ts'
export type { ActOptions, Operator, OperatorSchedules } from '../client/operator.ts'
export type { SearchOptions } from '../client/search-options.ts'
export type { FoundJob, SearchPage } from '../jobs/search.ts'
export type { OperationJob, OperationJobPage } from '../operations/jobs.ts'
export type { CanaryResult, Operation, OperationPage, StopRule } from '../operations/operation.ts'
export type { Fates, JobFate, JobOutcome, OperationAction, OperationState } from '../core/operation.ts'
