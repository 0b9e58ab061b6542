import { isStintError } from '../../core/errors.ts'
import type { ErrorCode } from '../../core/errors.ts'
import { messageOf } from '../../core/failures/thrown.ts'
import { UsageError } from '../arguments.ts'
import { note } from './output.ts'

export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  partial: 5,
  found: 7,
} as const

const byCode: Partial<Record<ErrorCode, number>> = {
  'invalid-option': exitCodes.usage,
  'job-not-found': exitCodes.notFound,
  'error-group-not-found': exitCodes.notFound,
  'schedule-not-found': exitCodes.notFound,
  'limit-not-found': exitCodes.notFound,
  'breaker-not-found': exitCodes.notFound,
  'operation-not-found': exitCodes.notFound,
  'flow-not-found': exitCodes.notFound,
  'worker-not-found': exitCodes.notFound,
  'too-many-matches': exitCodes.refused,
  'state-changed': exitCodes.refused,
  'flow-ended': exitCodes.refused,
  'job-ended': exitCodes.refused,
  'too-many-signals': exitCodes.refused,
  'duplicate-job': exitCodes.refused,
}

/** Prints what went wrong, in which command, and returns the exit code. */
export function report(error: unknown, command = ''): number {
  if (error instanceof UsageError) {
    note(`stint: ${error.message}\nSee stint ${command === '' ? '' : `${command} `}--help.`)
    return exitCodes.usage
  }
  note(`stint: ${isStintError(error) ? `${error.message} (${error.code})` : describe(error)}`)
  return isStintError(error) ? (byCode[error.code] ?? exitCodes.failed) : exitCodes.failed
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const listening = cannotListen(error)
  if (listening !== undefined) return listening
  // An error of the compiler: the message has file, line and column; the stack would only show the compiler's own code.
  return error.name === 'TransformError' ? error.message : (error.stack ?? error.message)
}

/** The message for a server that could not listen on its port. */
function cannotListen(error: Error): string | undefined {
  const { syscall, code, address, port } = error as NodeJS.ErrnoException & {
    address?: string
    port?: number
  }
  if (syscall !== 'listen') return undefined
  const place = `Port ${port ?? '?'} of ${address ?? '?'}`
  if (code === 'EADDRINUSE')
    return `${place} is in use by another process. Stop that process, or choose another port.`
  if (code === 'EACCES')
    return `${place} needs permissions that this process does not have. Choose a port from 1024 up.`
  return `Cannot listen: ${messageOf(error)}.`
}
