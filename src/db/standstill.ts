/** A timer that comes later than this was kept waiting by its own process. */
const standstillMs = 100

/**
 * Whether this process stood still past a moment, by the clock of `performance.now()`: then timers are served before the
 * answers that arrived meanwhile are read, and a time-out says nothing about the other side.
 */
export function stoodStillAt(dueAt: number): boolean {
  return performance.now() >= dueAt + standstillMs
}
