/*
 * A process that stands still, because its loop is blocked or the machine was paused, serves its timers before it reads
 * what has arrived meanwhile. A time-out then says nothing about the other side.
 */

/** A timer that comes later than this was kept waiting by its own process. */
const standstillMs = 100

/** Whether this process stood still past a moment, by the clock of `performance.now()`. */
export function stoodStillAt(dueAt: number): boolean {
  return performance.now() >= dueAt + standstillMs
}

/** Acts after a time, but not before the data that has arrived by then is read. Returns a function that cancels it. */
export function afterReading(ms: number, act: () => void): () => void {
  let turn: NodeJS.Immediate | undefined
  const timer = setTimeout(() => {
    turn = setImmediate(act)
  }, ms)
  return () => {
    clearTimeout(timer)
    clearImmediate(turn)
  }
}
