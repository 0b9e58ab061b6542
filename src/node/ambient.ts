import { AsyncLocalStorage } from 'node:async_hooks'

/** What code inside a handler can know about the job that it runs for. */
export interface Ambient {
  readonly jobId: string
  readonly kind: string
  readonly queue: string
  readonly attempt: number
  readonly correlationId: string
  readonly traceparent: string | undefined
  readonly tracestate: string | undefined
}

const home = Symbol.for('stint.ambient')

/** One for the whole process, also if two copies of the package are loaded. */
export const ambient: AsyncLocalStorage<Ambient> = ((globalThis as Record<symbol, unknown>)[home] ??=
  new AsyncLocalStorage<Ambient>()) as AsyncLocalStorage<Ambient>

/** The job whose handler is running here, for log lines and nested enqueues; undefined outside of one. */
export function currentJob(): Ambient | undefined {
  return ambient.getStore()
}
