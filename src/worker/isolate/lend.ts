import type { BlobConfig } from '../../jobs/new/new-job.ts'
import type { ApprovalsConfig } from '../../node/approval/options.ts'
import type { Handlers } from '../handlers.ts'

/** The method by which a worker gives its handlers to a child, also across two copies of the package. */
export const lending: unique symbol = Symbol.for('stint.worker.lending') as never

/** The parts of a worker that a child uses. The worker itself never connects nor claims. */
export interface Lent {
  readonly handlers: Handlers
  readonly blobs: BlobConfig | undefined
  readonly approvals: ApprovalsConfig
}

export interface Lender {
  [lending](): Lent
}

/** A worker that was made in a child. */
export interface LentWorker {
  readonly worker: Lender
  readonly entry: string | undefined
  readonly index: number
  /** start() or run() was called: all its handlers are registered. */
  wasStarted: boolean
}

/** The workers that the entry of a child has made. */
export interface ChildRegistry {
  readonly workers: LentWorker[]
  onStarted: () => void
}

const home = Symbol.for('stint.child')

/** Makes this process or thread a child: workers that are made from here on only lend their handlers. */
export function becomeChild(): ChildRegistry {
  const registry: ChildRegistry = { workers: [], onStarted: () => undefined }
  ;(globalThis as Record<symbol, unknown>)[home] = registry
  return registry
}

/**
 * Undefined if this process is no child. Kept in the process and not in its environment, which a handler's own child
 * processes inherit.
 */
export function childRegistry(): ChildRegistry | undefined {
  return (globalThis as Record<symbol, unknown>)[home] as ChildRegistry | undefined
}

/** Called in a child instead of running: never resolves, as if the worker ran until the child is ended. */
export function lendHandlers({ workers, onStarted }: ChildRegistry, worker: Lender): Promise<never> {
  for (const lent of workers) if (lent.worker === worker) lent.wasStarted = true
  onStarted()
  return new Promise(() => undefined)
}
