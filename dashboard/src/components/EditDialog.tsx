import { useLayoutEffect, useRef, useState } from 'react'
import { ApiError } from '../api/client.ts'
import { editAndReplay } from '../api/jobs.ts'
import type { JobDetail } from '../api/jobs.ts'
import { leavesOf, namesOf, withLeaf } from '../text/json-leaves.ts'
import type { Leaf } from '../text/json-leaves.ts'
import { CliLine } from './CliLine.tsx'
import { Dialog } from './Dialog.tsx'
import { Diff } from './Diff.tsx'
import { Field } from './Field.tsx'
import { ReasonField } from './TextField.tsx'
import { pretty } from './Json.tsx'
import { ProblemNote } from './ProblemNote.tsx'
import { useAct } from './use-act.ts'

const mostFields = 60

/** Replaces a dead letter by a new job with another input. The server checks the input; each error is shown at its field. */
export function EditDialog({
  job,
  cli,
  close,
  done,
}: {
  job: JobDetail
  cli: string
  close: () => void
  done: (id: string) => void
}) {
  const before = pretty(job.input)
  const [text, setText] = useState(before)
  const [isRaw, setRaw] = useState(false)
  const [reason, setReason] = useState('')
  const form = useRef<HTMLFormElement>(null)
  const parsed = parse(text)
  const replay = useAct(() => editAndReplay(job, text, reason.trim()), {
    isQuiet: true,
    done: (answer) => {
      done(answer.id)
    },
  })
  const errors = fieldErrors(replay.error)
  const leaves = parsed === undefined ? [] : leavesOf(parsed.value)
  const asFields = parsed !== undefined && leaves.length <= mostFields && !isRaw
  const change = (next: string): void => {
    setText(next)
    // The errors are about the previous input.
    if (replay.error !== null) replay.reset()
  }
  const submit = (): void => {
    replay.mutate(undefined)
  }
  // After the fields show their errors: focus the first invalid one.
  useLayoutEffect(() => {
    if (replay.error !== null) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [replay.error])
  return (
    <Dialog
      title={`Edit & replay ${job.kind}`}
      close={close}
      wide
      footer={
        <>
          <button type="button" className="button" onClick={close}>
            Cancel
          </button>
          <button
            type="submit"
            form="edit"
            className="button primary"
            disabled={parsed === undefined || reason.trim() === '' || replay.isPending}
          >
            Replay with this input
          </button>
        </>
      }
    >
      <form
        id="edit"
        ref={form}
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <div className="edit-tools">
          <span className="muted">
            Replay creates a new job with this input. The dead letter stays and is marked as replaced.
          </span>
          <button
            type="button"
            className="button"
            aria-pressed={isRaw}
            disabled={parsed === undefined || leaves.length > mostFields}
            onClick={() => {
              setRaw(!isRaw)
            }}
          >
            Edit as JSON
          </button>
        </div>
        {asFields ? (
          <Fields
            leaves={leaves}
            original={leavesOf(job.input)}
            errors={errors}
            set={(leaf, next, wasString) => {
              change(pretty(withLeaf(parsed.value, leaf, next, wasString)))
            }}
          />
        ) : (
          <Field
            label="Input"
            error={
              parsed === undefined
                ? 'This is not valid JSON.'
                : [...errors].map(([pointer, message]) => `${pointer || 'input'}: ${message}`).join('; ') ||
                  undefined
            }
          >
            {({ id, describedBy, isInvalid }) => (
              <textarea
                id={id}
                className="code"
                rows={14}
                spellcheck={false}
                aria-invalid={isInvalid}
                aria-describedby={describedBy}
                value={text}
                onInput={(event) => {
                  change(event.currentTarget.value)
                }}
              />
            )}
          </Field>
        )}
        <ReasonField value={reason} set={setReason} required autoComplete="off" />
      </form>
      <h3>Changes</h3>
      <Diff before={before} after={text} />
      <CliLine command={cli} />
      {replay.error === null ? null : <ProblemNote error={replay.error} />}
    </Dialog>
  )
}

function Fields({
  leaves,
  original,
  errors,
  set,
}: {
  leaves: readonly Leaf[]
  original: readonly Leaf[]
  errors: ReadonlyMap<string, string>
  set: (pointer: string, text: string, wasString: boolean) => void
}) {
  const before = new Map(original.map((leaf) => [leaf.pointer, leaf]))
  const here = new Set(leaves.map((leaf) => leaf.pointer))
  // A required value that is missing in the input has no field yet: add one.
  const missing = [...errors.keys()].filter(
    (pointer) =>
      pointer !== '' && !here.has(pointer) && !leaves.some((leaf) => leaf.pointer.startsWith(`${pointer}/`)),
  )
  const all: Leaf[] = [...leaves, ...missing.map((pointer) => ({ pointer, text: '', isString: false }))]
  const general = errors.get('')
  return (
    <div className="fields">
      {general === undefined ? null : <p className="bad">{general}</p>}
      {all.map((leaf) => {
        const wasString = before.get(leaf.pointer)?.isString ?? leaf.isString
        return (
          <Field
            key={leaf.pointer}
            label={namesOf(leaf.pointer).join(' › ') || 'input'}
            error={errors.get(leaf.pointer)}
          >
            {({ id, describedBy, isInvalid }) => (
              <input
                id={id}
                className="code"
                autoComplete="off"
                spellcheck={false}
                aria-invalid={isInvalid}
                aria-describedby={describedBy}
                value={leaf.text}
                onInput={(event) => {
                  set(leaf.pointer, event.currentTarget.value, wasString)
                }}
              />
            )}
          </Field>
        )
      })}
    </div>
  )
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

/** Errors by field. The server's pointers are relative to the request body, and the fields are below `/input`. */
function fieldErrors(error: Error | null): Map<string, string> {
  const found = new Map<string, string>()
  if (!(error instanceof ApiError)) return found
  for (const { pointer, message } of error.problem.errors ?? []) {
    const place =
      pointer === '/input' ? '' : pointer.startsWith('/input/') ? pointer.slice('/input'.length) : pointer
    found.set(place, [found.get(place), message].filter((each) => each !== undefined).join('; '))
  }
  return found
}
