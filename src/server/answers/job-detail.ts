import type { z } from '@hono/zod-openapi'
import type { Job } from '../../core/job.ts'
import type { JobDetail } from '../api/job.ts'
import type { Caller } from '../auth/caller.ts'
import type { ConsoleParts } from '../context.ts'
import { jobToItem, resourceOf, shownText, toStoredError } from './job-item.ts'
import { redactFor } from '../auth/redact.ts'

type Detail = z.infer<typeof JobDetail>

/** Larger inputs are not sent: the page of a job cannot show megabytes. */
const mostShownBytes = 256 * 1024

/** A job with all that this caller may see, and the actions that this caller may do. */
export function toJobDetail(job: Job, caller: Caller, parts: ConsoleParts, asOf: Date): Detail {
  const { basePath, contracts } = parts
  const mayRead = caller.can('view.input', resourceOf(job))
  const hidden = hiddenBy(job, mayRead)
  const input = redactFor(caller, parts, job, hidden === null ? job.input : null)
  const result = redactFor(caller, parts, job, mayRead ? job.result : null)
  const contract = contracts.get(job.kind)
  const self = `${basePath}/v1/jobs/${job.id}`
  return {
    ...jobToItem(job),
    input: input.value ?? null,
    inputHidden: hidden,
    redacted: input.isRedacted || result.isRedacted,
    result: result.value ?? null,
    storedError: toStoredError(job.error),
    progress: job.progress === null ? null : { ...job.progress, note: shownText(job.progress.note) },
    isSuspect: job.isSuspect,
    attemptsBefore: job.attemptsBefore,
    traceparent: job.traceparent,
    flowId: job.flowId,
    contract: { known: contract !== undefined, version: contract?.version ?? null },
    can: verbsFor(job, caller, contract !== undefined && hidden === null && !input.isByHost),
    links: { self, result: `${self}/result`, logs: `${self}/logs` },
    asOf: asOf.toISOString(),
  }
}

function hiddenBy(job: Job, mayRead: boolean): Detail['inputHidden'] {
  if (!mayRead) return 'role'
  if (job.inputBlob !== null) return 'blob'
  return JSON.stringify(job.input ?? null).length > mostShownBytes ? 'size' : null
}

const live = new Set(['scheduled', 'waiting', 'ready', 'running', 'retrying'])
const timed = new Set(['scheduled', 'ready', 'retrying'])

/** The actions that the state of the job allows and that the caller may do. All others are refused. */
function verbsFor(job: Job, caller: Caller, canEdit: boolean): Detail['can'] {
  const { id, state, discardedAt, replacedBy } = job
  const isDead = state === 'dead' && replacedBy === null
  const isOut = isDead && discardedAt === null
  const verbs = [
    { verb: 'replay', action: 'replay', fits: isOut, cli: `stint dead replay ${id}` },
    {
      verb: 'edit-and-replay',
      action: 'edit',
      fits: isOut && canEdit,
      cli: `stint job edit ${id} --input FILE --contracts FILE --reason …`,
    },
    { verb: 'discard', action: 'discard', fits: isOut, cli: `stint dead discard ${id}` },
    {
      verb: 'restore',
      action: 'restore',
      fits: isDead && discardedAt !== null,
      cli: `stint dead restore ${id}`,
    },
    {
      verb: 'run-now',
      action: 'run-now',
      fits: state === 'scheduled' || state === 'retrying',
      cli: `stint job run-now ${id}`,
    },
    {
      verb: 'reschedule',
      action: 'reschedule',
      fits: timed.has(state),
      cli: `stint job reschedule ${id} --delay 1h`,
    },
    {
      verb: 'reprioritize',
      action: 'reprioritize',
      fits: live.has(state) && state !== 'running',
      cli: `stint job reprioritize ${id} --priority 5`,
    },
    {
      verb: 'signal',
      action: 'flow',
      fits: state === 'waiting',
      cli: `stint job signal ${id} NAME --payload JSON`,
    },
    { verb: 'cancel', action: 'cancel', fits: live.has(state), cli: `stint job cancel ${id}` },
  ] as const
  const resource = resourceOf(job)
  return verbs
    .filter(({ fits, action }) => fits && caller.can(action, resource))
    .map(({ verb, cli }) => ({ verb, cli }))
}
