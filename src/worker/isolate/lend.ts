import type { BlobConfig } from '../../jobs/new/new-job.ts'
import type { Handlers } from '../handlers.ts'

/** By this a worker gives its handlers away, also to another copy of the package. */
export const lending: unique symbol = Symbol.for('stint.worker.lending') as never

/** What a child needs of a worker. It never connects nor claims. */
export interface Lent {
  readonly handlers: Handlers
  readonly blobs: BlobConfig | undefined
}

export interface Lender {
  [lending](): Lent
}

/** A worker that was made in a child. */
export interface Lending {
  readonly worker: Lender
  readonly entry: string | undefined
  readonly place: number
  /** It was asked to run: it has all its handlers. */
  wasAsked: boolean
}

/** What a child knows of the workers that its entry makes. */
export interface LendingHouse {
  readonly lendings: Lending[]
  onAsked: () => void
}

const home = Symbol.for('stint.child')

/** Makes this process or thread a child: workers that are made from here on only lend their handlers. */
export function openLendingHouse(): LendingHouse {
  const house: LendingHouse = { lendings: [], onAsked: () => undefined }
  ;(globalThis as Record<symbol, unknown>)[home] = house
  return house
}

/** Undefined where this is no child. Kept in the process and not in its environment, which a handler's own children inherit. */
export function lendingHouse(): LendingHouse | undefined {
  return (globalThis as Record<symbol, unknown>)[home] as LendingHouse | undefined
}

/** Instead of running, in a child: never resolves, as if it ran until the child is ended. */
export function lendInstead({ lendings, onAsked }: LendingHouse, worker: Lender): Promise<never> {
  for (const lending of lendings) if (lending.worker === worker) lending.wasAsked = true
  onAsked()
  return new Promise(() => undefined)
}
