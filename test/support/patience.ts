/**
 * How long to wait for what is surely coming: it only says when to stop hoping, and no test shall fail because two busy
 * cores took their time. Shorter than a test's own time, so that the error says what did not come.
 */
export const patienceMs = 50_000
