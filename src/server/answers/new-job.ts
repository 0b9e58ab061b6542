import type { z } from '@hono/zod-openapi'
import type { JobContract } from '../../contracts/contract.ts'
import { defineJob } from '../../contracts/define-job.ts'
import { checkInput } from '../../contracts/input.ts'
import { nearest } from '../../core/options.ts'
import { resolveJob } from '../../jobs/new/enqueue-options.ts'
import type { ScopedJobOptions } from '../../jobs/new/enqueue-options.ts'
import { asInvalidInput } from '../../jobs/new/new-job.ts'
import type { NewJob } from '../api/job.ts'
import type { Caller, Resource } from '../auth/caller.ts'
import type { ConsoleParts } from '../context.ts'
import { HttpProblem } from '../http/problem.ts'

/** A job from a request that has passed all checks. */
export interface CheckedJob {
  contract: JobContract
  input: unknown
  options: ScopedJobOptions
  /** Decides who may store the job. */
  resource: Resource
  /** The job's first state, unless it is a duplicate. */
  startState: 'ready' | 'scheduled'
}

/** The producer that sent the job, and the check of its permission. */
export interface Admission {
  caller: Pick<Caller, 'actor' | 'can'>
  /** Throws if the caller may not store such a job. */
  admit: (resource: Resource) => void
}

/** No limit of input size here: enqueue() refuses an input that does not fit a row, or puts it into the blob store. */
const anySize = 67_108_864

/** Checks the input and options of a job in the same way as enqueue(); throws if they are invalid. */
export async function checkNewJob(
  parts: Pick<ConsoleParts, 'contracts' | 'acceptUnknownKinds'>,
  { kind, queue, input, deadline, ...rest }: z.infer<typeof NewJob>,
  { caller, admit }: Admission,
): Promise<CheckedJob> {
  const contract = contractOf(parts, { kind, queue }, { caller })
  // Before the input is checked: an error about the input reveals the contract, which not every caller may see.
  admit({ kind, queue: queue ?? contract.queue })
  const options: ScopedJobOptions = {
    ...rest,
    idempotencyScope: caller.actor,
    ...(queue === undefined ? {} : { queue }),
    ...(deadline === undefined ? {} : { deadline: new Date(deadline) }),
  }
  const { parsed } = await checkInput(contract, input, anySize)
  const { members } = asInvalidInput(kind, () => resolveJob(contract, parsed, options))
  const runAt = members.runAt === undefined ? 0 : Date.parse(members.runAt)
  const isLater = (members.delayMs ?? 0) > 0 || runAt > Date.now()
  return {
    contract,
    input,
    options,
    resource: { queue: members.queue, kind, key: members.key ?? null },
    startState: isLater ? 'scheduled' : 'ready',
  }
}

/** The contract of a kind. For an unknown kind it makes one if the console accepts unknown kinds, else it throws. */
export function contractOf(
  { contracts, acceptUnknownKinds }: Pick<ConsoleParts, 'contracts' | 'acceptUnknownKinds'>,
  { kind, queue }: { kind: string; queue: string | undefined },
  { caller }: { caller: Pick<Caller, 'can'> },
): JobContract {
  const known = contracts.get(kind)
  if (known !== undefined) return known
  if (!acceptUnknownKinds) {
    const visible = [...contracts.values()].filter((one) =>
      caller.can('view', { queue: one.queue, kind: one.kind }),
    )
    throw unknownKind(
      kind,
      visible.map((one) => one.kind),
    )
  }
  if (queue === undefined) {
    throw new HttpProblem({
      status: 422,
      code: 'unknown-kind',
      title: 'The queue is missing',
      detail: 'The console has no contract for this kind, so the request must name a queue.',
      errors: [{ pointer: '/queue', message: 'is required for a kind without a contract here' }],
    })
  }
  return asInvalidInput(kind, () => defineJob({ kind, queue }))
}

function unknownKind(kind: string, kinds: readonly string[]): HttpProblem {
  const near = nearest(kind, kinds)
  return new HttpProblem({
    status: 422,
    code: 'unknown-kind',
    title: 'Unknown kind of job',
    detail: 'The console has no contract for this kind, and stores only inputs that it can check.',
    hint:
      near === undefined
        ? 'Pass the contract to the console (`contracts`), or accept kinds without one (`acceptUnknownKinds`).'
        : `Did you mean ${near}?`,
    errors: [{ pointer: '/kind', message: 'unknown kind' }],
  })
}
