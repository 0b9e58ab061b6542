import { useId } from 'react'
import type { ReactNode } from 'react'
import type { ApiError } from '../api/client.ts'
import { CliLine } from './CliLine.tsx'
import { Dialog } from './Dialog.tsx'
import { ProblemNote } from './ProblemNote.tsx'

/** A dialog for one action: its fields, the same as a command line, and what the server refused. */
export function FormDialog({
  title,
  button,
  isDanger = false,
  command,
  run,
  close,
  children,
}: {
  title: string
  button: string
  isDanger?: boolean
  command: string
  run: { mutate: (input: undefined) => void; isPending: boolean; error: ApiError | null }
  close: () => void
  children: ReactNode
}) {
  const id = useId()
  return (
    <Dialog
      title={title}
      close={close}
      footer={
        <>
          <button type="button" className="button" onClick={close}>
            Cancel
          </button>
          <button
            type="submit"
            form={id}
            className={`button primary ${isDanger ? 'danger' : ''}`}
            disabled={run.isPending}
          >
            {button}
          </button>
        </>
      }
    >
      <form
        id={id}
        onSubmit={(event) => {
          event.preventDefault()
          run.mutate(undefined)
        }}
      >
        {children}
      </form>
      <CliLine command={command} />
      {run.error === null ? null : <ProblemNote error={run.error} />}
    </Dialog>
  )
}
