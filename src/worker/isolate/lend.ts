import type { BlobConfig } from '../../jobs/new/new-job.ts'
import type { Handlers } from '../handlers.ts'

/** The method by which a worker gives its handlers to a child, also across two copies of the package. */
export const lending: unique symbol = Symbol.for('stint.worker.lending') as never

/** The parts of a worker that a child uses. The worker itself never connects nor claims. */
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
  /** start() or run() was called: all its handlers are registered. */
  wasAsked: boolean
}

/** The workers that the entry of a child has made. */
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

/**
 * Undefined if this process is no child. Kept in the process and not in its environment, which a handler's own child
 * processes inherit.
 */
export function lendingHouse(): LendingHouse | undefined {
  return (globalThis as Record<symbol, unknown>)[home] as LendingHouse | undefined
}

/** Called in a child instead of running: never resolves, as if the worker ran until the child is ended. */
export function lendInstead({ lendings, onAsked }: LendingHouse, worker: Lender): Promise<never> {
  for (const lending of lendings) if (lending.worker === worker) lending.wasAsked = true
  onAsked()
  return new Promise(() => undefined)
}
