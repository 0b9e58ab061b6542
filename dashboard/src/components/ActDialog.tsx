import { useState } from 'react'
import { act } from '../api/jobs.ts'
import type { JobDetail, Verb } from '../api/jobs.ts'
import { shortId } from '../text/format.ts'
import { because, shell } from '../text/shell.ts'
import { CliLine } from './CliLine.tsx'
import { Dialog } from './Dialog.tsx'
import { ReasonField, TextField } from './TextField.tsx'
import { ProblemNote } from './ProblemNote.tsx'
import { say } from './toasts.tsx'
import { useAct } from './use-act.ts'

const words: Partial<Record<Verb, { title: string; button: string; done: string }>> = {
  cancel: { title: 'Cancel this job', button: 'Cancel the job', done: 'Cancelled' },
  reschedule: { title: 'Reschedule this job', button: 'Reschedule', done: 'Rescheduled' },
  reprioritize: {
    title: 'Change the priority of this job',
    button: 'Change priority',
    done: 'Priority changed',
  },
}

/** The dialog for an action on one job that needs a value, or cannot be undone. */
export function ActDialog({ job, verb, close }: { job: JobDetail; verb: Verb; close: () => void }) {
  const [reason, setReason] = useState('')
  const [value, setValue] = useState(verb === 'reprioritize' ? String(job.priority) : '10m')
  const text = words[verb]
  const run = useAct(() => act(job, verb, { ...bodyOf(verb, value), ...(reason !== '' && { reason }) }), {
    isQuiet: true,
    done: () => {
      close()
      say({ tone: 'done', text: `${text?.done ?? verb}: ${job.kind} ${shortId(job.id)}.` })
    },
  })
  if (text === undefined) return null
  return (
    <Dialog
      title={text.title}
      close={close}
      footer={
        <>
          <button type="button" className="button" onClick={close}>
            Keep as it is
          </button>
          <button
            type="submit"
            form="act"
            className={`button primary ${verb === 'cancel' ? 'danger' : ''}`}
            disabled={run.isPending}
          >
            {text.button}
          </button>
        </>
      }
    >
      <form
        id="act"
        onSubmit={(event) => {
          event.preventDefault()
          run.mutate(undefined)
        }}
      >
        <p>
          <strong>{job.kind}</strong> {shortId(job.id)} is {job.state}.{' '}
          {verb === 'cancel'
            ? job.state === 'running'
              ? 'Its attempt is asked to stop. The job is cancelled when the attempt ends.'
              : 'The job will not run. This cannot be undone.'
            : ''}
        </p>
        {verb === 'reschedule' ? (
          <TextField
            label="When to run"
            hint="A duration such as 10m, or a time such as 2026-11-16T10:00:00Z."
            value={value}
            set={setValue}
            required
          />
        ) : null}
        {verb === 'reprioritize' ? (
          <TextField
            label="Priority"
            hint="From −100 to 100. Higher numbers run first."
            value={value}
            set={setValue}
            type="number"
            min={-100}
            max={100}
            required
          />
        ) : null}
        <ReasonField value={reason} set={setReason} />
      </form>
      <CliLine command={shell('stint', 'job', verb, job.id, ...optionsOf(verb, value), ...because(reason))} />
      {run.error === null ? null : <ProblemNote error={run.error} />}
    </Dialog>
  )
}

function bodyOf(verb: Verb, value: string): { priority?: number; delay?: string; runAt?: string } {
  if (verb === 'reprioritize') return { priority: Number(value) }
  if (verb !== 'reschedule') return {}
  const given = value.trim()
  return /^\d+(\.\d+)?(ms|s|m|h|d|w)$/.test(given) ? { delay: given } : { runAt: isoOf(given) }
}

/** The same option for the CLI; with `=`, because a priority may begin with a dash. */
function optionsOf(verb: Verb, value: string): string[] {
  const { priority, delay, runAt } = bodyOf(verb, value)
  if (priority !== undefined) return [`--priority=${priority}`]
  if (delay !== undefined) return ['--delay', delay]
  return runAt === undefined ? [] : ['--at', runAt]
}

function isoOf(text: string): string {
  const time = new Date(text)
  return Number.isNaN(time.getTime()) ? text : time.toISOString()
}
