import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useLayoutEffect, useState } from 'react'
import { useLocation } from 'wouter'
import type { ApiError } from '../api/client.ts'
import { previewOperation, startOperation } from '../api/operations.ts'
import type { NewOperation, OperationAction, Preview } from '../api/operations.ts'
import { countText, plural, span, whole } from '../text/format.ts'
import { because, shell } from '../text/shell.ts'
import { CliLine } from './CliLine.tsx'
import { CrashWarning } from './CrashWarning.tsx'
import { Dialog } from './Dialog.tsx'
import { Field } from './Field.tsx'
import { Icon } from './Icon.tsx'
import { ReasonField, TextField } from './TextField.tsx'
import { JobTable } from './JobTable.tsx'
import { Loading } from './Loaded.tsx'
import { ProblemNote } from './ProblemNote.tsx'
import { say } from './toasts.tsx'
import { useAct } from './use-act.ts'

export const verbs: Record<OperationAction, string> = {
  replay: 'Replay',
  cancel: 'Cancel',
  discard: 'Discard',
  restore: 'Restore',
  'run-now': 'Run now',
  reprioritize: 'Change priority of',
}

const typeAbove = 1_000

/**
 * The only way to act on more than one job. It first shows a preview: the action, the number of jobs, five of them, and
 * which jobs are left out. A replay tries a few jobs before the rest.
 */
export function OperationDialog({
  action,
  target,
  note,
  close,
}: {
  action: OperationAction
  target: { where: string } | { ids: string[] }
  /** A further note for the person before the start. */
  note?: string
  close: () => void
}) {
  const [, navigate] = useLocation()
  const [form, setForm] = useState<Form>({ reason: '', priority: '0', typed: '' })
  const operation = operationOf(action, target, form)
  const preview = usePreview(operation)
  const start = useAct(
    (shown: Preview) =>
      startOperation({ ...operation, reason: form.reason.trim(), ...boundsOf(target, shown) }),
    {
      isQuiet: true,
      done: (answer) => {
        say({ tone: 'done', text: `${verbs[action]}: the operation has started.` })
        // Close first, so that Back leads to the screen below, and not to a dialog for an operation that has started.
        close()
        navigate(`/operations/${answer.id}`)
      },
    },
  )
  const outgrown =
    start.error !== null && isOutgrown(start.error, start.variables) ? start.variables : undefined
  const { refetch } = preview
  useEffect(() => {
    if (outgrown !== undefined) void refetch()
  }, [outgrown, refetch])

  // The form begins with the server's defaults. They appear before paint, together with the number of jobs, so that a
  // person who reads the number can go on to the fields at once.
  const { data } = preview
  useLayoutEffect(() => {
    if (data === undefined || form.isTried !== undefined) return
    setForm((now) => ({
      ...now,
      isTried: data.canary > 0,
      canary: String(data.canary > 0 ? data.canary : 10),
      pace: data.pace === null ? '' : String(data.pace),
      same: String(data.stopIf.sameError ?? 20),
    }))
  }, [data, form.isTried])

  const count = data?.matched.count ?? 0
  const mustType = count > typeAbove
  const isTyped = !mustType || form.typed.replaceAll(/[,.\s]/g, '') === String(count)
  // A person cannot confirm a number that is known to be out of date.
  const isCurrent = data !== undefined && data !== outgrown
  const isReady = isCurrent && count > 0 && form.reason.trim() !== '' && isTyped && !start.isPending
  const change = (next: Partial<Form>): void => {
    setForm((now) => ({ ...now, ...next }))
  }
  const title =
    data === undefined
      ? `${verbs[action]} jobs`
      : `${verbs[action]} ${countText(data.matched)} ${count === 1 ? 'job' : 'jobs'}`

  return (
    <Dialog
      title={title}
      close={close}
      wide
      footer={
        <>
          <button type="button" className="button" onClick={close}>
            Cancel
          </button>
          <button
            type="submit"
            form="operation"
            className={`button primary ${action === 'cancel' || action === 'discard' ? 'danger' : ''}`}
            disabled={!isReady}
          >
            {title}
          </button>
        </>
      }
    >
      <form
        id="operation"
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady) start.mutate(data)
        }}
      >
        {data === undefined ? (
          preview.error === null ? (
            <Loading />
          ) : (
            <ProblemNote error={preview.error} />
          )
        ) : (
          <What preview={data} />
        )}
        {note === undefined ? null : <p className="muted">{note}</p>}
        {action === 'replay' && form.isTried !== undefined ? (
          <Care form={form} change={change} count={count} />
        ) : null}
        {action === 'reprioritize' ? (
          <TextField
            label="New priority"
            hint="Higher runs first; from −100 to 100."
            value={form.priority}
            set={(priority) => {
              change({ priority })
            }}
            type="number"
          />
        ) : null}
        <ReasonField
          hint={action === 'discard' ? 'They go to the trash, and can be restored for a day.' : undefined}
          value={form.reason}
          set={(reason) => {
            change({ reason })
          }}
          data-first
          required
          placeholder="fixed in v215"
          autoComplete="off"
        />
        {mustType ? (
          <Field
            label={`Type ${count} to confirm`}
            hint={
              data?.matched.exact === false
                ? 'It was counted up to here; never more than this is acted on.'
                : undefined
            }
          >
            {({ id, describedBy }) => (
              <input
                id={id}
                aria-describedby={describedBy}
                inputMode="numeric"
                autoComplete="off"
                value={form.typed}
                onInput={(event) => {
                  change({ typed: event.currentTarget.value })
                }}
              />
            )}
          </Field>
        ) : null}
      </form>
      {data === undefined ? null : <CliLine command={reasoned(data.cli, form.reason)} />}
      {preview.error !== null && data !== undefined ? <ProblemNote error={preview.error} /> : null}
      {outgrown !== undefined ? (
        <Outgrown shown={outgrown} />
      ) : start.error === null ? null : (
        <ProblemNote error={start.error} />
      )}
    </Dialog>
  )
}

/** Adds the reason to the command of the preview, which does not know it yet. */
function reasoned(cli: string, reason: string): string {
  const said = shell(...because(reason))
  return said === '' ? cli : cli.replace(/--reason …$/, () => said)
}

interface Form {
  reason: string
  priority: string
  typed: string
  isTried?: boolean
  canary?: string
  pace?: string
  same?: string
}

function What({ preview }: { preview: Preview }) {
  return (
    <>
      <p className="preview-sum">
        <strong>{countText(preview.matched)}</strong>{' '}
        {preview.matched.count === 1 ? 'job matches' : 'jobs match'}
        {preview.excluded.map((each) => (
          <span key={each.reason} className="muted">
            {' '}
            − {whole(each.count)} {each.reason}
          </span>
        ))}
        {preview.matched.count === 0 ? <span> Nothing would be done.</span> : null}
      </p>
      {preview.crashed === 0 ? null : <CrashWarning crashed={preview.crashed} canary={preview.canary} />}
      {preview.samples.length === 0 ? null : (
        <details open={preview.samples.length < 3}>
          <summary>{plural(preview.samples.length, 'sample')}</summary>
          <JobTable
            rows={preview.samples.map((item) => ({ item, key: item.id, isGone: false }))}
            label="Samples"
          />
        </details>
      )}
    </>
  )
}

/** Replaces the server's hint, to raise `max`: the person confirmed the number that was shown, not a higher one. */
function Outgrown({ shown }: { shown: Preview }) {
  return (
    <div className="note note-warn" role="alert">
      <Icon name="warn" />
      <div className="note-body">
        <strong>Nothing was done: more match by now</strong>
        <span>
          {plural(shown.matched.count, 'job')} had been shown. They are counted again; look at the number,
          then start it.
        </span>
      </div>
    </div>
  )
}

function Care({ form, change, count }: { form: Form; change: (next: Partial<Form>) => void; count: number }) {
  const pace = Number(form.pace)
  const restMs = pace > 0 ? (Math.max(0, count - Number(form.canary)) / pace) * 1_000 : undefined
  return (
    <fieldset className="care">
      <legend>How</legend>
      <label className="check">
        <input
          type="radio"
          name="care"
          checked={form.isTried === false}
          onChange={() => {
            change({ isTried: false })
          }}
        />
        All at once
      </label>
      <div className="check-line">
        <label className="check">
          <input
            type="radio"
            name="care"
            checked={form.isTried === true}
            onChange={() => {
              change({ isTried: true })
            }}
          />
          Canary: first
        </label>
        <input
          className="tiny"
          type="number"
          min={1}
          max={1_000}
          aria-label="Jobs of the canary"
          disabled={form.isTried !== true}
          value={form.canary}
          onInput={(event) => {
            change({ canary: event.currentTarget.value })
          }}
        />
        <span>jobs, then the rest at</span>
        <input
          className="tiny"
          type="number"
          min={0.1}
          step="any"
          aria-label="Jobs a second after the canary"
          placeholder="any"
          disabled={form.isTried !== true}
          value={form.pace}
          onInput={(event) => {
            change({ pace: event.currentTarget.value })
          }}
        />
        <span>a second; stop if the same error comes back in more than</span>
        <input
          className="tiny"
          type="number"
          min={0}
          max={100}
          aria-label="Percent of the canary that may fail with the same error"
          disabled={form.isTried !== true}
          value={form.same}
          onInput={(event) => {
            change({ same: event.currentTarget.value })
          }}
        />
        <span>%</span>
      </div>
      {form.isTried === true && restMs !== undefined ? (
        <small className="muted">After the canary the rest takes ≈ {span(restMs)}.</small>
      ) : null}
    </fieldset>
  )
}

function operationOf(
  action: OperationAction,
  target: { where: string } | { ids: string[] },
  form: Form,
): NewOperation {
  const base: NewOperation = { action, ...target }
  if (action === 'reprioritize') return { ...base, priority: Number(form.priority) }
  if (action !== 'replay' || form.isTried === undefined) return base
  // Sent explicitly: without `pace` the server limits the pace of large operations.
  if (!form.isTried) return { ...base, canary: 0, pace: null }
  const [canary, pace, sameError] = [Number(form.canary), Number(form.pace), Number(form.same)]
  return {
    ...base,
    ...(canary > 0 && { canary }),
    ...(form.pace === '' ? { pace: null } : pace > 0 && { pace }),
    ...(form.same !== '' && { stopIf: { sameError } }),
  }
}

/**
 * Limits the operation to what the person confirmed: no job that was created or died after the preview (`asOf`), and never
 * more jobs than shown (`max`). With `max` alone, new jobs of a busy queue would exceed it before a reason is typed. A list
 * of ids needs no `max`.
 */
function boundsOf(
  target: { where: string } | { ids: string[] },
  { matched, asOf }: Preview,
): { asOf: string; max?: number } {
  const isKnown = matched.exact || matched.count > typeAbove
  return { asOf, ...('where' in target && isKnown && { max: matched.count }) }
}

/** Whether it was refused because more jobs match than in the preview, and not because there were too many from the start. */
function isOutgrown(error: ApiError, shown: Preview | undefined): boolean {
  return error.code === 'too-many-matches' && shown?.matched.exact === true
}

function usePreview(operation: NewOperation) {
  const [asked, setAsked] = useState(operation)
  const text = JSON.stringify(operation)
  useEffect(() => {
    const timer = setTimeout(() => {
      setAsked(JSON.parse(text) as NewOperation)
    }, 400)
    return () => {
      clearTimeout(timer)
    }
  }, [text])
  return useQuery<Preview, ApiError>({
    queryKey: ['preview', asked],
    queryFn: () => previewOperation(asked),
    staleTime: Infinity,
    gcTime: 0,
    placeholderData: keepPreviousData,
  })
}
