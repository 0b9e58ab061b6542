import { useState } from 'react'
import { steer } from '../api/operations.ts'
import type { Operation } from '../api/operations.ts'
import { plural, shortId } from '../text/format.ts'
import { because, shell } from '../text/shell.ts'
import { CliLine } from './CliLine.tsx'
import { Dialog } from './Dialog.tsx'
import { ReasonField } from './TextField.tsx'
import { ProblemNote } from './ProblemNote.tsx'
import { say } from './toasts.tsx'
import { useAct } from './use-act.ts'

/** Aborts an operation. Unlike a pause it asks for confirmation, because an aborted operation cannot be resumed. */
export function AbortDialog({ operation, close }: { operation: Operation; close: () => void }) {
  const [reason, setReason] = useState('')
  const { id, state, acted, skipped, failed, matched } = operation
  const left = matched === null ? undefined : matched - acted - skipped - failed
  const run = useAct(() => steer(id, 'abort', reason === '' ? {} : { reason }), {
    isQuiet: true,
    done: () => {
      close()
      say({ tone: 'done', text: `Aborted: operation ${shortId(id)}.` })
    },
  })
  return (
    <Dialog
      title="Abort this operation"
      close={close}
      footer={
        <>
          <button type="button" className="button" onClick={close}>
            Keep it
          </button>
          <button type="submit" form="abort" className="button primary danger" disabled={run.isPending}>
            Abort it
          </button>
        </>
      }
    >
      <form
        id="abort"
        onSubmit={(event) => {
          event.preventDefault()
          run.mutate(undefined)
        }}
      >
        <p>
          {acted === 0
            ? 'The operation has not changed any job yet.'
            : `The operation has changed ${plural(acted, 'job')}; those changes stay.`}{' '}
          {left === undefined ? 'The remaining jobs' : `The other ${plural(left, 'job')}`} will not be
          changed. An aborted operation cannot be resumed
          {state === 'paused' ? '.' : '; to stop it for now, pause it instead.'}
        </p>
        <ReasonField value={reason} set={setReason} />
      </form>
      <CliLine command={shell('stint', 'op', 'abort', id, ...because(reason))} />
      {run.error === null ? null : <ProblemNote error={run.error} />}
    </Dialog>
  )
}
