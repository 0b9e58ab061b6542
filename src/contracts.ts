// What a contract file needs: neither the driver nor anything of Node, so it loads in a browser too.
export { defineJob, typed } from './contracts/define-job.ts'
export { anyOf, flow } from './contracts/flow.ts'
export type { AnyOf, FlowBuilder, FlowDefinition, FlowJobOptions, FlowOptions } from './contracts/flow.ts'
export type { Ended, Reference } from './contracts/flow-references.ts'
export { defineSignal } from './contracts/signal.ts'
export type { SignalContract, SignalDefinition } from './contracts/signal.ts'
export { webhookJob } from './contracts/webhook.ts'
export type { WebhookInput } from './contracts/webhook.ts'
export { readInput } from './contracts/input.ts'
export { defineBreaker } from './limits/rules/define-breaker.ts'
export type { BreakerDefinition, BreakerRule } from './limits/rules/define-breaker.ts'
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
export type { FlowRule } from './limits/rules/rule.ts'
export type {
  Backoff,
  ClassRuleOptions,
  ConflictPolicy,
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
export { isStintError, StintError } from './core/errors.ts'
export type { ErrorCode, Issue } from './core/errors.ts'
export { CancelJob, PermanentError, RetryAfter, Snooze } from './core/failures/verdict.ts'
