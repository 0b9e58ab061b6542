import { useId } from 'react'
import type { ReactNode } from 'react'

/** A labelled control with its error below it, connected for screen readers. */
export function Field({
  label,
  error,
  hint,
  children,
}: {
  label: string
  error?: string | undefined
  hint?: string | undefined
  children: (ids: { id: string; describedBy: string | undefined; isInvalid: boolean }) => ReactNode
}) {
  const id = useId()
  const noteId = `${id}-note`
  const note = error ?? hint
  return (
    <div className={`field ${error === undefined ? '' : 'field-bad'}`}>
      <label htmlFor={id}>{label}</label>
      {children({ id, describedBy: note === undefined ? undefined : noteId, isInvalid: error !== undefined })}
      {note === undefined ? null : (
        <small id={noteId} className={error === undefined ? 'muted' : 'bad'}>
          {note}
        </small>
      )}
    </div>
  )
}
