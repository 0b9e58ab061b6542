// What a contract file needs: neither the driver nor anything of Node, so it loads in a browser too.
export { defineJob, typed } from './contracts/define-job.ts'
export { readInput } from './contracts/input.ts'
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
