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

/** A job that a producer sent and that can be stored as it is. */
export interface CheckedJob {
  contract: JobContract
  input: unknown
  options: ScopedJobOptions
  /** For the right to store it. */
  resource: Resource
  /** Its state when it is stored, unless another stands for it. */
  startState: 'ready' | 'scheduled'
}

/** Whoever sends it. */
export interface Admission {
  caller: Pick<Caller, 'actor' | 'can'>
  /** Throws where they may not store such a job. */
  admit: (resource: Resource) => void
}

/** Inputs past what fits a row are refused, or go to the blob store, when they are stored. */
const anySize = 67_108_864

/** Checks all of it, input and options, as enqueue() will; throws what is wrong with it. */
export async function checkNewJob(
  parts: Pick<ConsoleParts, 'contracts' | 'acceptUnknownKinds'>,
  { kind, queue, input, deadline, ...rest }: z.infer<typeof NewJob>,
  { caller, admit }: Admission,
): Promise<CheckedJob> {
  const contract = contractOf(parts, { kind, queue }, { caller })
  // Before anything is said about its input: what a contract asks for is not for everybody.
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

/** The contract of a kind, where the console has it; throws where it takes none that it does not have. */
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
