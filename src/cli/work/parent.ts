import { subscribe } from 'node:diagnostics_channel'
import { peek } from '../../core/failures/thrown.ts'
import { protocol } from '../../worker/processes/messages.ts'

/** `stint work` as a child, of its supervisor or of `stint dev`: there is a channel to its parent. */

/** When the channel breaks, nobody is left to stop this. */
export function endWithParent(): void {
  if (process.channel === undefined) return
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel.unref()
}

/** Tells the parent what the workers of this process have come to; the answer is how many there are, once it is known. */
export function tellParent(): { expect: (workers: number) => void } {
  // A file that runs its worker itself is never done with loading: one is as much as can be known of it.
  let expected = 1
  const ready = new Set<unknown>()
  // By the name that src/worker/lease/lease-news.ts publishes under: the file may have a copy of the package of its own.
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
  // A parent that is gone meanwhile is told by `disconnect`, not here.
  if (process.connected) process.send?.({ ...protocol, ...message }, undefined, undefined, () => undefined)
}
