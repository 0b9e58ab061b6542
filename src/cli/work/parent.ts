import { subscribe } from 'node:diagnostics_channel'
import { peek } from '../../core/failures/thrown.ts'
import { protocol } from '../../worker/processes/messages.ts'

/** `stint work` as a child of its supervisor or of `stint dev`: it has an IPC channel to its parent. */

/** Stops this process when the channel closes, because the parent can no longer stop it. */
export function endWithParent(): void {
  if (process.channel === undefined) return
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel.unref()
}

/** Tells the parent the state of this process's workers. The caller passes their number to `expect` once it is known. */
export function tellParent(): { expect: (workers: number) => void } {
  // The load of a file that runs its worker itself does not end, so expect one worker until the number is known.
  let expected = 1
  const ready = new Set<unknown>()
  // By the channel name of src/worker/lease/lease-news.ts, not by import: the file may use its own copy of the package.
  subscribe('stint.worker', (news) => {
    const type = peek(news, 'type')
    if (type === 'stopping') tell({ type })
    if (type !== 'lease') return
    tell({ type, ...(peek(news, 'lease') as object) })
    ready.add(peek(news, 'worker'))
    if (ready.size >= expected) tell({ type: 'ready' })
  })
  return {
    expect: (workers) => {
      expected = workers
    },
  }
}

function tell(message: object): void {
  // The error of a send to an ended parent is ignored: `disconnect` handles that case.
  if (process.connected) process.send?.({ ...protocol, ...message }, undefined, undefined, () => undefined)
}
