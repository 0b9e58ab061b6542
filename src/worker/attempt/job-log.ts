import { errorShortened, toStorable } from '../../core/json/storable.ts'
import type { Logger } from '../report/log.ts'
import type { HandlerContext, JobLog } from './handler-context.ts'
import type { HeldJob } from './held-job.ts'
import type { Notes } from './notes.ts'
import { textOf } from './text-of.ts'

/** Limit for a message, and for its data. */
const maxLineBytes = 8 * 1024

interface LogParts {
  readonly notes: Pick<Notes, 'log'>
  readonly logger: Logger
  /** Earlier calls are being repeated: an earlier attempt has logged what comes before the first new one. */
  readonly isReplaying: () => boolean
  /** Says once what had to be changed to be stored. */
  readonly flag: (changed: readonly string[]) => void
}

/** Lines of a handler, kept with its attempt and written to the worker's log. */
export function jobLog(
  ctx: HandlerContext & { held: HeldJob },
  { notes, logger, ...parts }: LogParts,
): JobLog {
  const { held, jobId: id, kind, queue, attempt, correlationId } = ctx
  const about = { id, kind, queue, attempt, correlationId }
  const write =
    (level: keyof JobLog) =>
    (message: string, data?: unknown): void => {
      if (parts.isReplaying()) return
      const stored = data === undefined ? undefined : toStorable(data, { maxBytes: maxLineBytes })
      const { text, changed } = textOf(message, maxLineBytes)
      notes.log(held, { level, message: text, data: stored?.text })
      logger[level](
        stored === undefined ? about : { ...about, data: JSON.parse(stored.text) as unknown },
        text,
      )
      // Errors are logged often, and their text in the log is enough: no warning.
      parts.flag([...changed, ...(stored?.changed ?? [])].filter((how) => how !== errorShortened))
    }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}
