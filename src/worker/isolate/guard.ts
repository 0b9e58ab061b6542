import { Worker as Thread } from 'node:worker_threads'
import { builtFile } from '../../node/built-file.ts'

/** The pipe on which the guard of a child process speaks; it breaks when the worker is gone. */
export const guardFd = 4
export const guardEveryMs = 250

/** Ends a child process and what its handlers have started; it leads a process group of its own. */
export function killGroup(pid: number): void {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL')
  } catch {
    // It is gone already.
  }
}

/** Starts the guard of this child process. */
export function startGuard(): void {
  const guard = new Thread(builtFile('worker/isolate/guard-thread'), {
    name: 'stint guard',
    // Without the flags that the user's file needs: the guard must be small and start at once.
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  })
  // Without the guard a child still ends with its worker, as long as its event loop turns.
  guard.on('error', () => undefined)
  guard.unref()
}
