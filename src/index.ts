export { Stint } from './client/stint.ts'
export type { EnqueuedJob, EnqueuedJobs } from './client/enqueue/enqueued-job.ts'
export type { FollowOptions, JobNews, ProgressNews, StateNews, StepNews } from './client/follow/follow.ts'
export type { ResultOptions } from './client/follow/result.ts'
export type { EnqueueManyOptions, EnqueueOptions, Progress } from './client/enqueue/options.ts'

export type { GetOptions } from './client/calls.ts'
export type { SignalOptions, SignalResult } from './client/jobs/signals.ts'
export type { StepsOptions } from './client/jobs/steps-options.ts'
export type { JobStep } from './flows/steps/job-steps.ts'
export type { ParkedJob, StepCall } from './flows/steps/parked-job.ts'
export type { DeadLetter, DeadLetters, EditOptions, ReplayOptions } from './client/dead/dead-letters.ts'
export type { ListDeadOptions } from './client/dead/dead-letter-options.ts'
export type { DoctorOptions } from './client/doctor-options.ts'
export type { Batch } from './client/flows/batch.ts'
export type { EnqueueFlowOptions, EnqueueFlowsOptions, Flows } from './client/flows/flows.ts'
export type { EnqueuedFlow } from './client/flows/flow-parts.ts'
export type { CancelFlowOptions, ListFlowsOptions, ReplayedFlow } from './client/flows/flow-verbs.ts'
export type { FlowGraph, FlowMember, GraphNode } from './flows/graph/members.ts'
export type {
  Flow,
  FlowNode,
  FlowPage,
  FlowState,
  FlowSummary,
  FlowType,
  JobCounts,
} from './flows/graph/read.ts'
export type { JobOptions } from './jobs/new/enqueue-options.ts'
export type { ErrorGroups, ListErrorsOptions } from './client/dead/error-groups.ts'
export type { JobPage, ListOptions } from './client/jobs/list-options.ts'
export type { LogsOptions } from './client/jobs/log-options.ts'
export type { BlobOptions } from './jobs/new/blob-options.ts'
export type { AmbientOptions, StintOptions } from './client/options.ts'
export type { PausedPart, PauseOptions } from './client/pause-options.ts'
export type { PressureOptions } from './client/pressure.ts'
export type { PressureReport, PressureState } from './limits/pressure/state.ts'
export type { DrainOptions, Queues, SetQueueOptions } from './client/queues.ts'
export type { GaugesOptions, Stats, StatsOptions } from './client/stats.ts'
export type { Overview, QueuesOverview, View } from './client/console/view.ts'
export type { Fleet, Leases, LeaseView, WorkerView } from './stats/read/fleet/fleet.ts'
export type { JobBrief, OperationBrief } from './stats/read/briefs.ts'
export type { QueueHour } from './stats/read/queues/last-hour.ts'
export type { KindView, QueueDetails } from './stats/read/queues/queue.ts'
export type { CountedState, QueueFigures } from './stats/read/queues/figures.ts'
export type { MergedSeries, SeriesPoint } from './stats/read/series/series.ts'
export type { SystemView } from './stats/read/fleet/server.ts'
export type { Totals } from './stats/read/series/totals.ts'
export type { DeadlyError, StoppedOperation, Trouble, TroubledSchedule } from './stats/read/trouble.ts'
export type { Status } from './client/status.ts'
export type { BlobStore } from './jobs/blobs/store.ts'
export { fileBlobStore } from './jobs/blobs/file-store.ts'
export type { FileBlobStoreOptions } from './jobs/blobs/file-store.ts'
export type { PruneResult } from './jobs/blobs/prune.ts'
export { defineJob, typed } from './contracts/define-job.ts'
export { anyOf, flow } from './contracts/flow.ts'
export type { AnyOf, FlowBuilder, FlowDefinition, FlowJobOptions, FlowOptions } from './contracts/flow.ts'
export type { Ended, Reference } from './contracts/flow-references.ts'
export { defineSignal } from './contracts/signal.ts'
export type { SignalContract, SignalDefinition } from './contracts/signal.ts'
export { webhookJob } from './contracts/webhook.ts'
export type { WebhookInput } from './contracts/webhook.ts'
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
} from './contracts/contract.ts'
export type { Duration } from './core/duration.ts'
export { verifyWebhook } from './node/webhook/signature.ts'
export type { VerifyOptions } from './node/webhook/signature.ts'
export { defineBreaker } from './limits/rules/define-breaker.ts'
export type { BreakerDefinition, BreakerRule } from './limits/rules/define-breaker.ts'
export type {
  BreakerCause,
  BreakerChange,
  BreakerDetails,
  BreakerInfo,
  BreakerState,
} from './limits/breakers/breaker.ts'
export type { BreakerHandle, BreakerRunOptions } from './limits/breakers/runner.ts'
export type { BreakerStep } from './limits/breakers/steps.ts'
export type { Breakers, ForceBreakerOptions } from './client/breakers.ts'
export type {
  LimitEnd,
  Limits,
  OverrideOptions,
  PenaliseOptions,
  RuleListOptions,
  SetKeyOptions,
} from './client/limits.ts'
export type {
  KeyRule,
  LimitDetails,
  LimitHolder,
  LimitInfo,
  LimitOverride,
  LimitType,
} from './limits/manage/read.ts'
export type { ControlOptions, Workers } from './client/workers.ts'
export { defineLimit } from './limits/rules/define-limit.ts'
export type { Cover, LimitDefinition, LimitPolicy, LimitRule } from './limits/rules/define-limit.ts'
export { defineQueue } from './limits/rules/define-queue.ts'
export type {
  FullPolicy,
  QueueDefinition,
  QueueRule,
  RetryBudgetOptions,
} from './limits/rules/define-queue.ts'
export { defineRate } from './limits/rules/define-rate.ts'
export type { RateDefinition, RateRule } from './limits/rules/define-rate.ts'
export type { PredicateName, Sees, WhyPredicate } from './limits/why/verdict.ts'
export type { WhyHolder } from './limits/why/words.ts'
export type { Why, WhyOptions } from './limits/why/why.ts'
export type { AttemptCause, WhyAttempt, WhyTwice } from './jobs/attempt/why-twice.ts'
export type { FlowRule } from './limits/rules/rule.ts'
export type { BucketOptions, RateLimit, TakeOptions, TryTakeOptions } from './limits/rates/rates.ts'
export type { RateTotals } from './limits/rates/rate-totals.ts'
export type { TokenAnswer } from './limits/rates/local-bucket.ts'
export { defineSchedule } from './schedules/rules/define-schedule.ts'
export type {
  MissedOptions,
  MissedPolicy,
  OverlapPolicy,
  Schedule,
  ScheduleDefinition,
  ScheduledJobOptions,
} from './schedules/rules/define-schedule.ts'
export type { RuleOptions } from './schedules/rules/rule.ts'
export type { Fire, FireOutcome, ScheduleDetails, ScheduleInfo } from './schedules/read.ts'
export type { BackfilledFire, BackfillOptions, NextFire, RanSchedule, Schedules } from './client/schedules.ts'
export type { CheckName } from './doctor/checks.ts'
export type { Examination } from './doctor/examine.ts'
export type { Finding, Level } from './doctor/finding.ts'
export { isStintError, StintError } from './core/errors.ts'
export type { ErrorCode, Issue } from './core/errors.ts'
export type { Job, JobProgress, JobState, JobSummary } from './core/job.ts'
export type { PgTransaction, Send, TxAdapter } from './db/foreign-tx.ts'
export type { Attempt } from './jobs/attempt/attempts.ts'
export type { DeadLetterPage, DeadLetterSummary } from './client/dead/dead-letter-page.ts'
export type { DeadLetterFacts, DeadReason } from './jobs/dead/dead-letter.ts'
export type { LogLine } from './jobs/attempt/logs.ts'
export type { ErrorGroup, ErrorGroupSummary, ErrorHour } from './stats/errors/error-groups.ts'
export type { ErrorStatus } from './core/failures/error-status.ts'
export type {
  Percentiles,
  StatCounts,
  StatPoint,
  StatSeries,
  StatSummary,
} from './stats/read/series/read-stats.ts'
export type { Pause } from './jobs/pauses/pauses.ts'
export type { QueueSettings } from './jobs/queue-settings.ts'
export type { LiveWorker } from './stats/read/fleet/workers.ts'
export type { LeaderStatus, ServiceStatus, UpkeepStatus } from './stats/read/fleet/upkeep.ts'
export type { AppliedMigration, MigrateOptions, MigrateResult, MigrationStatus } from './schema/migrate.ts'
export type { AuditEntry, AuditPage, Origin } from './operations/audit/audit.ts'
export type { Actor } from './client/operator/actor.ts'
export type { Expect } from './client/operator/act.ts'
export type { Audit, ListAuditOptions } from './client/operator/audit.ts'
export type { ResumeOptions, When } from './client/jobs/job-verbs.ts'
export type {
  ListOperationJobsOptions,
  ListOperationsOptions,
  StartOptions,
} from './client/operations/operation-options.ts'
export type { Operations, Preview } from './client/operations/operations.ts'
export type { ActOptions } from './client/operator/auditing.ts'
export type { Operator, OperatorSchedules } from './client/operator/operator.ts'
export type { SearchOptions } from './client/jobs/search-options.ts'
export type { FoundJob, SearchPage } from './jobs/search/search.ts'
export type { OperationJob, OperationJobPage } from './operations/jobs.ts'
export type { OperationPage } from './operations/operation.ts'
export type {
  CanaryResult,
  Fates,
  JobFate,
  JobOutcome,
  NewOperation,
  Operation,
  OperationAction,
  OperationState,
  StopRule,
} from './core/operation.ts'
