import type { Job } from '../core/job.ts'
import type { BlobConfig } from '../jobs/new/new-job.ts'
import type { Announcer } from '../jobs/wake-up/announcer.ts'
import type { Hint } from '../jobs/wake-up/hint.ts'
import { Breakers } from './breakers.ts'
import type { Calls } from './calls.ts'
import { DeadLetters } from './dead/dead-letters.ts'
import { ErrorGroups } from './dead/error-groups.ts'
import { FlowVerbs } from './flows/flow-verbs.ts'
import { JobVerbs } from './jobs/job-verbs.ts'
import { signalJob } from './jobs/signals.ts'
import type { SignalRequest, SignalResult } from './jobs/signals.ts'
import { Limits } from './limits.ts'
import { Queues } from './queues.ts'
import { Schedules } from './schedules.ts'
import { Workers } from './workers.ts'

/** The parts of a client that change something. */
export interface ClientParts {
  jobs: JobVerbs
  dead: DeadLetters
  flows: FlowVerbs
  queues: Queues
  schedules: Schedules
  errors: ErrorGroups
  limits: Limits
  breakers: Breakers
  workers: Workers
  /** Sends a signal to a job. */
  signal: (jobId: string, request: Pick<SignalRequest, 'signal' | 'payload' | 'key'>) => Promise<SignalResult>
}

/** Makes the parts on these calls: those of the client itself, or those of a person's transaction; `by` is who acts. */
export function partsOn(
  calls: Calls,
  { blobs, announcer, by }: { blobs: BlobConfig | undefined; announcer: Announcer; by: string },
): ClientParts {
  const onReady = (job: Job): void => {
    announce(job, announcer)
  }
  const onStored = (hints: Iterable<Hint>): void => {
    announcer.stored(new Set(hints))
  }
  const onRules = (): void => {
    announcer.rulesChanged()
  }
  return {
    jobs: new JobVerbs(calls, {
      onMoved: onReady,
      onAsked: (worker) => {
        announcer.askedToStop(worker)
      },
    }),
    dead: new DeadLetters(calls, { blobs, onReady }),
    flows: new FlowVerbs(calls, { onReady: onStored }),
    queues: new Queues(calls, {
      by,
      onChanged: onRules,
    }),
    workers: new Workers(calls, { onChanged: onRules }),
    errors: new ErrorGroups(calls),
    signal: (jobId, request) => signalJob({ calls, announcer }, jobId, { ...request, by }),
    limits: new Limits(calls, {
      by,
      onChanged: onRules,
    }),
    breakers: new Breakers(calls, {
      by,
      onChanged: onRules,
    }),
    schedules: new Schedules(calls, {
      onReady: onStored,
      onChanged: () => {
        announcer.schedulesChanged()
      },
    }),
  }
}

/** Tells workers about a job's new time, queue or priority. */
function announce({ queue, priority, key, runAt }: Job, announcer: Announcer): void {
  const inMs = Math.max(0, runAt.getTime() - Date.now())
  announcer.stored(new Set([{ queue, priority, keyed: key !== null, key: key ?? undefined, inMs }]))
}
