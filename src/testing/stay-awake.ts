/**
 * Keeps the process alive while `work` is under way: the timers, sockets and threads of a worker do not, and a process
 * with nothing else to do would end in the middle of a drain.
 */
export async function stayAwake<Result>(work: () => Promise<Result>): Promise<Result> {
  const alive = setInterval(() => undefined, 60_000)
  try {
    return await work()
  } finally {
    clearInterval(alive)
  }
}
