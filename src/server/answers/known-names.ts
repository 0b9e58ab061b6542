import type { JobContract } from '../../contracts/contract.ts'
import type { ConsoleParts } from '../context.ts'
import type { OverviewFacts } from './overview.ts'

/** The queues and kinds of jobs that the console knows. */
export interface Known {
  queues: readonly string[]
  kinds: readonly string[]
}

export async function knownTo({
  reads,
  contracts,
}: Pick<ConsoleParts, 'reads' | 'contracts'>): Promise<Known> {
  return knownIn(await reads.overview(), contracts)
}

function knownIn({ queues, trouble }: OverviewFacts, contracts: ReadonlyMap<string, JobContract>): Known {
  const kinds = new Set([
    ...queues.workers.flatMap((worker) => worker.kinds),
    ...trouble.errors.map(({ kind }) => kind),
    ...trouble.schedules.map(({ kind }) => kind),
    ...contracts.keys(),
  ])
  return { queues: queues.queues.map(({ queue }) => queue), kinds: [...kinds] }
}
