export { Worker } from '../worker/worker.ts'
export type { WorkerOptions, QueueOptions } from '../worker/options.ts'
export type { Fence, HandlerContext, JobLog } from '../worker/attempt/context.ts'
export type {
  ChildrenOptions,
  HandleOptions,
  IsolateMode,
  IsolateOptions,
} from '../worker/isolate/isolate-options.ts'
export type { BatchHandler, BatchJob, BatchOptions, Handler, Middleware } from '../worker/handlers.ts'
export { defineSchedule } from '../schedules/define-schedule.ts'
export type { Schedule, ScheduleDefinition } from '../schedules/define-schedule.ts'
export type { Fired } from '../schedules/tick.ts'
export type { JobFacts, WorkerEvents } from '../worker/events.ts'
export type { DeadReason } from '../jobs/list-dead.ts'
export type { UnknownKind } from '../jobs/survey.ts'
export type { StoredCause, StoredError } from '../core/stored-error.ts'
export type { Logger } from '../worker/log.ts'
export { CancelJob, PermanentError, RetryAfter, Snooze } from '../core/verdict.ts'
export { currentJob } from '../ambient/ambient.ts'
export type { Ambient } from '../ambient/ambient.ts'
