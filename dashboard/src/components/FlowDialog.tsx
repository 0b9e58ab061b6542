import { useState } from 'react'
import { cancelFlow, replayFlow } from '../api/flows.ts'
import type { FlowGraph } from '../api/flows.ts'
import { plural } from '../text/format.ts'
import { because, shell } from '../text/shell.ts'
import { FormDialog } from './FormDialog.tsx'
import { ReasonField } from './TextField.tsx'
import { say } from './toasts.tsx'
import { useAct } from './use-act.ts'

/** Replays the dead jobs of a flow, or cancels it. */
export function FlowDialog({
  flow,
  verb,
  close,
}: {
  flow: FlowGraph
  verb: 'replay' | 'cancel'
  close: () => void
}) {
  const [reason, setReason] = useState('')
  const isReplay = verb === 'replay'
  const run = useAct(
    async () => {
      if (!isReplay) return cancelFlow(flow, reason.trim()).then(() => `${flow.name} is cancelled.`)
      const { replayed } = await replayFlow(flow.id, reason.trim())
      return `${plural(replayed, 'job')} of ${flow.name} replayed.`
    },
    {
      isQuiet: true,
      done: (text) => {
        close()
        say({ tone: 'done', text })
      },
    },
  )
  return (
    <FormDialog
      title={isReplay ? 'Replay the dead jobs of this flow' : 'Cancel this flow'}
      button={isReplay ? `Replay ${plural(flow.dead, 'job')}` : 'Cancel the flow'}
      command={shell('stint', 'flow', verb, flow.id, ...because(reason))}
      isDanger={!isReplay}
      run={run}
      close={close}
    >
      <p>
        {isReplay
          ? `The dead jobs, and those of the flows that they made, are ready again. ${plural(flow.heldJobs, 'waiting job')} can go on once they succeed.`
          : `${plural(flow.remaining, 'job')} will not run, or are asked to stop. This cannot be undone.`}
      </p>
      <ReasonField value={reason} set={setReason} />
    </FormDialog>
  )
}
