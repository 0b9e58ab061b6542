import { useState } from 'react'
import { sendSignal, stepsQuery } from '../api/jobs.ts'
import type { JobDetail, JobStep } from '../api/jobs.ts'
import { useLive } from '../api/use-live.ts'
import { shortId } from '../text/format.ts'
import { because, shell } from '../text/shell.ts'
import { Field } from './Field.tsx'
import { FormDialog } from './FormDialog.tsx'
import { ReasonField, TextField } from './TextField.tsx'
import { say } from './toasts.tsx'
import { useAct } from './use-act.ts'

/** Sends a signal to a waiting job. The name is that of the first signal that it waits for, until the person writes another. */
export function SignalDialog({ job, close }: { job: JobDetail; close: () => void }) {
  const steps = useLive(stepsQuery(job.id)).data?.items ?? []
  const [written, setName] = useState<string>()
  const [payload, setPayload] = useState('{}')
  const [reason, setReason] = useState('')
  const name = written ?? awaitedIn(steps) ?? ''
  const isJson = parses(payload)
  const run = useAct(() => sendSignal(job.id, name, { payloadText: payload, reason: reason.trim() }), {
    isQuiet: true,
    done: ({ duplicate }) => {
      close()
      say({ tone: 'done', text: `${duplicate ? 'Sent before' : 'Sent'}: ${name} to ${shortId(job.id)}.` })
    },
  })
  return (
    <FormDialog
      title="Send a signal to this job"
      button="Send the signal"
      command={shell(
        ...['stint', 'job', 'signal', job.id, name === '' ? 'NAME' : name],
        ...['--payload', payload.trim()],
        ...because(reason),
      )}
      run={{
        ...run,
        mutate: () => {
          if (isJson) run.mutate(undefined)
        },
      }}
      close={close}
    >
      <TextField label="Signal" value={name} set={setName} required maxLength={128} autoComplete="off" />
      <Field
        label="Payload"
        hint="JSON, at most 64 KiB."
        error={isJson ? undefined : 'This is not valid JSON.'}
      >
        {({ id, describedBy, isInvalid }) => (
          <textarea
            id={id}
            className="code"
            rows={5}
            spellcheck={false}
            data-first
            aria-invalid={isInvalid}
            aria-describedby={describedBy}
            value={payload}
            onInput={(event) => {
              setPayload(event.currentTarget.value)
            }}
          />
        )}
      </Field>
      <ReasonField value={reason} set={setReason} />
    </FormDialog>
  )
}

/** The step of a wait is named `signal:` and the name of its signal. */
function awaitedIn(steps: readonly JobStep[]): string | undefined {
  return steps.find(({ type, state }) => type === 'signal' && state === 'open')?.name.replace(/^signal:/, '')
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
