import { channel } from 'node:diagnostics_channel'

/**
 * For `stint work`, which passes it on to its supervisor. A diagnostics channel of Node and not an event of the worker:
 * it works across two copies of the package, also when the file runs its worker itself, and the URL, which contains a
 * password, appears in no log.
 */
const news = channel('stint.worker')

/** A worker claims under this lease from now on. */
export function tellLease(
  worker: object,
  lease: { workerId: string; url: string; schema: string; drainMs: number },
): void {
  news.publish({ type: 'lease', worker, lease })
}

export function tellStopping(worker: object): void {
  news.publish({ type: 'stopping', worker })
}
