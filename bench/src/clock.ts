/** Milliseconds of the machine's monotonic clock: unlike performance.now(), the same in every process on it. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
