import { useState } from 'react'
import { setQueue } from '../api/queues.ts'
import type { QueueDetails } from '../api/queues.ts'
import { span } from '../text/format.ts'
import { because, shell } from '../text/shell.ts'
import { CliLine } from './CliLine.tsx'
import { Dialog } from './Dialog.tsx'
import { ReasonField, TextField } from './TextField.tsx'
import { ProblemNote } from './ProblemNote.tsx'
import { say } from './toasts.tsx'
import { useAct } from './use-act.ts'

export function QueueSettings({ detail, close }: { detail: QueueDetails; close: () => void }) {
  const { keepMs, keepDeadMs } = detail.settings
  const [keep, setKeep] = useState(keepMs === null ? 'default' : keepMs === 0 ? '0' : span(keepMs))
  const [keepDead, setKeepDead] = useState(keepDeadMs === null ? 'forever' : span(keepDeadMs))
  const [reason, setReason] = useState('')
  const save = useAct(() => setQueue(detail.queue, { keep, keepDead, ...(reason !== '' && { reason }) }), {
    isQuiet: true,
    done: () => {
      close()
      say({ tone: 'done', text: `Queue ${detail.queue}: retention changed.` })
    },
  })
  return (
    <Dialog
      title={`Retention of ${detail.queue}`}
      close={close}
      footer={
        <>
          <button type="button" className="button" onClick={close}>
            Cancel
          </button>
          <button
            type="button"
            className="button primary"
            disabled={save.isPending}
            onClick={() => {
              save.mutate(undefined)
            }}
          >
            Save
          </button>
        </>
      }
    >
      <TextField
        label="Keep finished jobs"
        hint="A duration such as 12h; 0 for a few minutes; default for 7 days."
        value={keep}
        set={setKeep}
      />
      <TextField
        label="Keep dead letters"
        hint="A duration such as 90d, or forever."
        value={keepDead}
        set={setKeepDead}
      />
      <ReasonField value={reason} set={setReason} />
      <CliLine
        command={shell(
          ...['stint', 'queue', 'set', detail.queue, '--keep', keep, '--keep-dead', keepDead],
          ...because(reason),
        )}
      />
      {save.error === null ? null : <ProblemNote error={save.error} />}
    </Dialog>
  )
}
