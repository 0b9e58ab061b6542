/**
 * How long to wait for an event that is certain to come. It only decides when to give up: no test may fail because two busy
 * cores were slow. Shorter than the timeout of a test, so that the error names the missing event.
 */
export const patienceMs = 50_000
