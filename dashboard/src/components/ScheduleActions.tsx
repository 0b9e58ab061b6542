import { useState } from 'react'
import { backfillSchedule, pauseSchedule, resumeSchedule, runSchedule } from '../api/schedules.ts'
import type { BackfillAnswer, ScheduleDetail } from '../api/schedules.ts'
import { plural } from '../text/format.ts'
import { because, shell } from '../text/shell.ts'
import { CliLine } from './CliLine.tsx'
import { Dialog } from './Dialog.tsx'
import { Field } from './Field.tsx'
import { ReasonField, TextField } from './TextField.tsx'
import { ProblemNote } from './ProblemNote.tsx'
import { Time } from './Time.tsx'
import { say } from './toasts.tsx'
import { undoing, useAct } from './use-act.ts'
import { useMe } from './use-me.ts'
import { usePanel } from './use-panel.ts'

export function ScheduleActions({ schedule }: { schedule: ScheduleDetail }) {
  const { can } = useMe()
  const panel = usePanel()
  const { name } = schedule
  const run = useAct(() => runSchedule(name, undefined), {
    done: (answer) => {
      if (answer.action === 'asked') {
        say({ tone: 'done', text: askedText(1, answer) })
        return
      }
      say({
        tone: 'done',
        text: `${name} fired now.`,
        link: { href: `/jobs/${answer.jobId}`, label: 'Its job' },
      })
    },
  })
  const resume = useAct(() => resumeSchedule(name), {
    done: () => {
      say({ tone: 'done', text: `${name} fires again.` })
    },
  })
  if (!can('schedule.run')) return <CliLine command={shell('stint', 'schedule', 'get', name)} />
  return (
    <div className="stack">
      <div className="group-actions">
        {can('schedule.run') ? (
          <button
            type="button"
            className="button primary"
            disabled={run.isPending}
            onClick={() => {
              run.mutate(undefined)
            }}
          >
            Run now
          </button>
        ) : null}
        {can('schedule.run') ? (
          schedule.isPaused ? (
            <button
              type="button"
              className="button"
              disabled={resume.isPending}
              onClick={() => {
                resume.mutate(undefined)
              }}
            >
              Resume
            </button>
          ) : (
            <button
              type="button"
              className="button"
              onClick={() => {
                panel.open('pause')
              }}
            >
              Pause…
            </button>
          )
        ) : null}
        {can('schedule.run') ? (
          <button
            type="button"
            className="button"
            onClick={() => {
              panel.open('backfill')
            }}
          >
            Backfill…
          </button>
        ) : null}
      </div>
      <div className="cli-lines">
        <CliLine command={shell('stint', 'schedule', 'run', name)} label="Run now, on the command line" />
        {schedule.isPaused ? (
          <CliLine command={shell('stint', 'schedule', 'resume', name)} label="Resume, on the command line" />
        ) : null}
      </div>
      {panel.name === 'pause' && can('schedule.run') ? <PauseDialog name={name} close={panel.close} /> : null}
      {panel.name === 'backfill' && can('schedule.run') ? (
        <BackfillDialog name={name} close={panel.close} />
      ) : null}
    </div>
  )
}

function PauseDialog({ name, close }: { name: string; close: () => void }) {
  const [length, setLength] = useState('1d')
  const [reason, setReason] = useState('')
  const given = length.trim()
  const run = useAct(
    () => pauseSchedule(name, { ...(given !== '' && { for: given }), ...(reason !== '' && { reason }) }),
    {
      isQuiet: true,
      done: () => {
        close()
        const undo = undoing(() => resumeSchedule(name), `${name} fires again.`)
        say({ tone: 'done', text: `${name} is paused.`, undo })
      },
    },
  )
  return (
    <Dialog
      title={`Pause ${name}`}
      close={close}
      footer={
        <button type="submit" form="pause" className="button primary" disabled={run.isPending}>
          Pause
        </button>
      }
    >
      <form
        id="pause"
        onSubmit={(event) => {
          event.preventDefault()
          run.mutate(undefined)
        }}
      >
        <TextField
          label="For"
          hint="A duration like 1d. Empty: until it is resumed."
          value={length}
          set={setLength}
        />
        <ReasonField value={reason} set={setReason} />
      </form>
      <CliLine
        command={shell(
          'stint',
          'schedule',
          'pause',
          name,
          ...(given === '' ? [] : ['--for', given]),
          ...because(reason),
        )}
      />
      {run.error === null ? null : <ProblemNote error={run.error} />}
    </Dialog>
  )
}

const dayMs = 86_400_000

function BackfillDialog({ name, close }: { name: string; close: () => void }) {
  const [from, setFrom] = useState(() => new Date(Date.now() - dayMs).toISOString().slice(0, 16))
  const [to, setTo] = useState(() => new Date().toISOString().slice(0, 16))
  const [reason, setReason] = useState('')
  const body = { from: `${from}:00Z`, to: `${to}:00Z`, ...(reason !== '' && { reason }) }
  const look = useAct(() => backfillSchedule(name, { ...body, dryRun: true }), { isQuiet: true })
  const run = useAct(() => backfillSchedule(name, body), {
    isQuiet: true,
    done: (answer) => {
      close()
      const fires = firesOf(answer)
      const isAsked = fires.some(({ action }) => action === 'asked')
      say({
        tone: 'done',
        text: isAsked
          ? askedText(fires.length, answer)
          : `${name}: ${plural(fires.length, 'fire')} backfilled.`,
      })
    },
  })
  const fires = look.data === undefined ? undefined : firesOf(look.data)
  const isAsked = fires?.some(({ action }) => action === 'asked') === true
  const edit = (set: (value: string) => void) => (event: { currentTarget: HTMLInputElement }) => {
    set(event.currentTarget.value)
    look.reset()
  }
  return (
    <Dialog
      title={`Backfill ${name}`}
      close={close}
      footer={
        <>
          <button
            type="button"
            className="button"
            disabled={look.isPending}
            onClick={() => {
              look.mutate(undefined)
            }}
          >
            Preview
          </button>
          <button
            type="button"
            className="button primary"
            disabled={fires === undefined || fires.length === 0 || run.isPending}
            onClick={() => {
              run.mutate(undefined)
            }}
          >
            {fires === undefined
              ? 'Backfill'
              : `${isAsked ? 'Ask for' : 'Make'} ${plural(fires.length, 'job')}`}
          </button>
        </>
      }
    >
      <p>
        Makes jobs for the fires of this range that did not happen. Past fires are not repeated. Times are
        UTC.
      </p>
      <div className="pairs">
        <Field label="From">
          {({ id }) => (
            <input id={id} data-first type="datetime-local" value={from} onInput={edit(setFrom)} />
          )}
        </Field>
        <Field label="To">
          {({ id }) => <input id={id} type="datetime-local" value={to} onInput={edit(setTo)} />}
        </Field>
      </div>
      <ReasonField value={reason} set={setReason} />
      {fires === undefined ? null : (
        <>
          <p role="status">
            <strong>{plural(fires.length, 'fire')}</strong> would be backfilled.
            {isAsked ? ` ${makesThem(look.data?.isOrphan === true)}` : null}
          </p>
          <ol className="plain-list">
            {fires.slice(0, 10).map((fire) => (
              <li key={fire.fireAt}>
                <Time at={fire.fireAt} exact />
              </li>
            ))}
            {fires.length > 10 ? <li className="muted">and {fires.length - 10} more</li> : null}
          </ol>
        </>
      )}
      <CliLine
        command={shell(
          ...['stint', 'schedule', 'backfill', name, '--from', body.from, '--to', body.to],
          ...because(reason),
        )}
      />
      {look.error === null ? null : <ProblemNote error={look.error} />}
      {run.error === null ? null : <ProblemNote error={run.error} />}
    </Dialog>
  )
}

/** The fires of a range that a backfill would make, without those that already fired. */
function firesOf(answer: BackfillAnswer): BackfillAnswer['items'] {
  return answer.items.filter(({ action }) => action !== 'kept')
}

function askedText(fires: number, { isOrphan }: { isOrphan: boolean }): string {
  return `Asked for ${plural(fires, 'fire')}. ${makesThem(isOrphan)}`
}

/** For a schedule whose input is made by code. */
function makesThem(isOrphan: boolean): string {
  return isOrphan
    ? "No live worker has this schedule's code: the jobs wait for one."
    : "A worker that has this schedule's code makes the jobs."
}
