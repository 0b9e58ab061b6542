import { useId, useState } from 'react'
import { pauseQueue, resumeQueue } from '../api/queues.ts'
import type { QueueDetails } from '../api/queues.ts'
import { endHint, endOf, endWords } from '../text/end.ts'
import { because, shell } from '../text/shell.ts'
import { Choice } from './Choice.tsx'
import { CliLine } from './CliLine.tsx'
import { Dialog } from './Dialog.tsx'
import { Field } from './Field.tsx'
import { ProblemNote } from './ProblemNote.tsx'
import { ReasonField, TextField } from './TextField.tsx'
import { say } from './toasts.tsx'
import { undoing, useAct } from './use-act.ts'

const parts = ['queue', 'kind', 'key'] as const

/** Pauses a queue, or one kind or key of it. */
export function PauseDialog({ detail, close }: { detail: QueueDetails; close: () => void }) {
  const { queue } = detail
  const [part, setPart] = useState<(typeof parts)[number]>('queue')
  const [name, setName] = useState('')
  const [end, setEnd] = useState('')
  const [reason, setReason] = useState('')
  const of = part === 'queue' ? {} : { [part]: name }
  const body = { ...of, ...endOf(end), reason: reason.trim() }
  const what = part === 'queue' ? queue : `${part === 'kind' ? 'Kind' : 'Key'} ${name} of ${queue}`
  const run = useAct(() => pauseQueue(queue, body), {
    isQuiet: true,
    done: () => {
      close()
      const undo = undoing(() => resumeQueue(queue, of), `${what} is resumed.`)
      say({ tone: 'done', text: `${what} is paused.`, undo })
    },
  })
  return (
    <Dialog
      title={`Pause ${queue}`}
      close={close}
      footer={
        <>
          <button type="button" className="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" form="pause" className="button primary" disabled={run.isPending}>
            Pause
          </button>
        </>
      }
    >
      <form
        id="pause"
        onSubmit={(event) => {
          event.preventDefault()
          run.mutate(undefined)
        }}
      >
        <p>Workers start no more of these jobs. Running jobs go on, and new jobs are stored.</p>
        <Choice
          legend="What to pause"
          name="part"
          choices={parts}
          chosen={part}
          choose={(chosen) => {
            setPart(chosen)
            setName('')
          }}
        />
        {part === 'queue' ? null : (
          <NameField
            label={part === 'kind' ? 'Kind' : 'Key'}
            known={
              part === 'kind' ? detail.kinds.map(({ kind }) => kind) : detail.topKeys.map(({ key }) => key)
            }
            value={name}
            set={setName}
          />
        )}
        <TextField label="End" hint={`${endHint} Empty: until it is resumed.`} value={end} set={setEnd} />
        <ReasonField
          hint="Shown wherever the pause is shown."
          value={reason}
          set={setReason}
          required
          data-first
        />
      </form>
      <CliLine
        command={shell(
          ...['stint', 'queue', 'pause', queue],
          ...(part === 'queue' ? [] : [`--${part}=${name}`]),
          ...endWords(end),
          ...because(reason),
        )}
      />
      {run.error === null ? null : <ProblemNote error={run.error} />}
    </Dialog>
  )
}

function NameField({
  label,
  known,
  value,
  set,
}: {
  label: string
  known: readonly string[]
  value: string
  set: (value: string) => void
}) {
  const listId = useId()
  return (
    <Field label={label}>
      {({ id }) => (
        <>
          <input
            id={id}
            list={listId}
            required
            autoComplete="off"
            value={value}
            onInput={(event) => {
              set(event.currentTarget.value)
            }}
          />
          <datalist id={listId}>
            {known.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  )
}
