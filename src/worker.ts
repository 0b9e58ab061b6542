export { Worker } from './worker/worker.ts'
export type { WorkerOptions, QueueOptions } from './worker/options.ts'
export type { Fence, HandlerContext, JobLog } from './worker/attempt/handler-context.ts'
export type {
  AllOptions,
  Child,
  Children,
  Ended,
  EndedError,
  JoinedOf,
  JoinOptions,
  OnDead,
  ResultsOf,
  SpawnOptions,
  WaitForJobOptions,
} from './worker/attempt/steps/child-options.ts'
export type {
  EachOptions,
  Pages,
  ReceivedSignal,
  StepContext,
  StepOptions,
  TimedOut,
  WaitOptions,
} from './worker/attempt/steps/step-options.ts'
export type { ApprovalOptions } from './worker/attempt/steps/approval.ts'
export type { Stored } from './worker/attempt/steps/stored-value.ts'
export type { ApprovalsOptions } from './node/approval/options.ts'
export type { WebhooksOptions } from './worker/webhooks.ts'
export type {
  ChildrenOptions,
  HandleOptions,
  IsolateMode,
  IsolateOptions,
} from './worker/isolate/isolate-options.ts'
export type { BatchHandler, BatchJob, BatchOptions, Handler, Middleware } from './worker/handlers.ts'
export { defineSchedule } from './schedules/rules/define-schedule.ts'
export type { Schedule, ScheduleDefinition } from './schedules/rules/define-schedule.ts'
export type { Fired } from './schedules/fires/tick.ts'
export type { JobFacts, WorkerEvents } from './worker/report/events.ts'
export type { DeadReason } from './jobs/dead/dead-letter.ts'
export type { UnknownKind } from './jobs/survey.ts'
export type { StoredCause, StoredError } from './core/failures/stored-error.ts'
export type { Logger } from './worker/report/log.ts'
export { CancelJob, PermanentError, RetryAfter, Snooze } from './core/failures/verdict.ts'
export { currentJob } from './node/ambient.ts'
export type { Ambient } from './node/ambient.ts'
