import { useState } from 'react'
import { triage } from '../api/error-groups.ts'
import { because, shell } from '../text/shell.ts'
import { CliLine } from './CliLine.tsx'
import { Dialog } from './Dialog.tsx'
import { ReasonField, TextField } from './TextField.tsx'
import { ProblemNote } from './ProblemNote.tsx'
import { say } from './toasts.tsx'
import { undoing, useAct } from './use-act.ts'

/** Marks an error group as resolved in a version, or ignored for a while. Its jobs do not change. */
export function TriageDialog({
  group,
  verb,
  close,
}: {
  group: string
  verb: 'resolve' | 'ignore'
  close: () => void
}) {
  const [value, setValue] = useState(verb === 'ignore' ? '7d' : '')
  const [reason, setReason] = useState('')
  const name = group.slice(0, 8)
  const given = value.trim()
  const body = {
    ...(given !== '' && (verb === 'resolve' ? { version: given } : { for: given })),
    ...(reason !== '' && { reason }),
  }
  const run = useAct(() => triage(group, verb, body), {
    isQuiet: true,
    done: () => {
      close()
      say({
        tone: 'done',
        text: `Group ${name} is ${verb === 'resolve' ? 'resolved' : 'ignored'}.`,
        undo: undoing(() => triage(group, 'reopen', {}), `Group ${name} is open again.`),
      })
    },
  })
  return (
    <Dialog
      title={verb === 'resolve' ? `Resolve group ${name}` : `Ignore group ${name}`}
      close={close}
      footer={
        <>
          <button type="button" className="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" form="triage" className="button primary" disabled={run.isPending}>
            {verb === 'resolve' ? 'Resolve' : 'Ignore'}
          </button>
        </>
      }
    >
      <form
        id="triage"
        onSubmit={(event) => {
          event.preventDefault()
          run.mutate(undefined)
        }}
      >
        {verb === 'resolve' ? (
          <TextField
            label="Fixed in version"
            hint="If the error occurs again on this version or a later one, the group reopens as regressed. Empty: from now on."
            value={value}
            set={setValue}
            placeholder="v215"
          />
        ) : (
          <TextField
            label="Ignore for"
            hint="A duration such as 7d. Empty: until the group is reopened."
            value={value}
            set={setValue}
          />
        )}
        <ReasonField value={reason} set={setReason} />
      </form>
      <CliLine
        command={shell(
          'stint',
          'error',
          verb,
          group,
          ...(given === '' ? [] : [verb === 'resolve' ? '--in' : '--for', given]),
          ...because(reason),
        )}
      />
      {run.error === null ? null : <ProblemNote error={run.error} />}
    </Dialog>
  )
}
