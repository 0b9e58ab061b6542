import { useState } from 'react'
import {
  clearConcurrency,
  closeOrOpenQueue,
  concurrencyQuery,
  pressureQuery,
  setConcurrency,
} from '../api/queues.ts'
import { useLive } from '../api/use-live.ts'
import { endHint, endOf, endWords } from '../text/end.ts'
import { plural } from '../text/format.ts'
import { because, shell } from '../text/shell.ts'
import { CliLine } from './CliLine.tsx'
import { FormDialog } from './FormDialog.tsx'
import { ReasonField, TextField } from './TextField.tsx'
import { Time } from './Time.tsx'
import { say } from './toasts.tsx'
import { useAct } from './use-act.ts'
import { usePanel } from './use-panel.ts'

/** Closes a queue for new jobs or opens it, and sets how many jobs of it each worker runs. */
export function QueueFlowActions({ queue }: { queue: string }) {
  const panel = usePanel()
  const { data: pressure } = useLive(pressureQuery(queue))
  const verb = pressure?.state === 'closed' ? 'open' : 'drain'
  return (
    <>
      {pressure === undefined ? null : (
        <button
          type="button"
          className="button"
          onClick={() => {
            panel.open(verb)
          }}
        >
          {texts[verb].button}…
        </button>
      )}
      <button
        type="button"
        className="button"
        onClick={() => {
          panel.open('concurrency')
        }}
      >
        Concurrency…
      </button>
      {pressure !== undefined && panel.name === verb ? (
        <DrainDialog key={verb} queue={queue} verb={verb} close={panel.close} />
      ) : null}
      {panel.name === 'concurrency' ? <ConcurrencyDialog queue={queue} close={panel.close} /> : null}
    </>
  )
}

const texts = {
  drain: {
    button: 'Drain',
    does: 'It takes no new jobs: enqueues are refused, in running producers within 2 seconds. Its jobs go on, retries too, until it is empty.',
    done: 'is closed for new jobs',
  },
  open: { button: 'Open', does: 'It takes new jobs again.', done: 'is open' },
} as const

function DrainDialog({ queue, verb, close }: { queue: string; verb: 'drain' | 'open'; close: () => void }) {
  const { button, does, done } = texts[verb]
  const [reason, setReason] = useState('')
  const run = useAct(() => closeOrOpenQueue(queue, verb, reason === '' ? {} : { reason }), {
    isQuiet: true,
    done: () => {
      close()
      say({ tone: 'done', text: `${queue} ${done}.` })
    },
  })
  return (
    <FormDialog
      title={`${button} ${queue}`}
      button={button}
      command={shell('stint', 'queue', verb, queue, ...because(reason))}
      run={run}
      close={close}
    >
      <p>{does}</p>
      <ReasonField value={reason} set={setReason} />
    </FormDialog>
  )
}

function ConcurrencyDialog({ queue, close }: { queue: string; close: () => void }) {
  const [count, setCount] = useState('')
  const [end, setEnd] = useState('1h')
  const [reason, setReason] = useState('')
  const body = { concurrency: Number(count), ...endOf(end), ...(reason !== '' && { reason }) }
  const run = useAct(() => setConcurrency(queue, body), {
    isQuiet: true,
    done: () => {
      close()
      say({ tone: 'done', text: `Each worker runs ${plural(Number(count), 'job')} of ${queue} at once.` })
    },
  })
  return (
    <FormDialog
      title={`Concurrency of ${queue}`}
      button="Set"
      command={shell(
        ...['stint', 'queue', 'concurrency', queue],
        // Without a number the command shows what holds now, and takes no end.
        ...(count === '' ? [] : [count, ...endWords(end), ...because(reason)]),
      )}
      run={run}
      close={close}
    >
      <p>
        Each worker of this queue runs this many of its jobs at once, instead of what its code says. Workers
        follow within their poll interval. Running jobs are not stopped.
      </p>
      <TextField
        label="Jobs at once, in each worker"
        type="number"
        min={1}
        max={10_000}
        required
        value={count}
        set={setCount}
      />
      <TextField label="End" hint={`${endHint} Empty: until it is cleared.`} value={end} set={setEnd} />
      <ReasonField hint="Shown on this screen." value={reason} set={setReason} />
    </FormDialog>
  )
}

/** One line if a person has set the concurrency of a queue. */
export function QueueConcurrency({ queue, canEdit }: { queue: string; canEdit: boolean }) {
  const { data } = useLive(concurrencyQuery(queue))
  const clear = useAct(() => clearConcurrency(queue), {
    done: () => {
      say({ tone: 'done', text: `${queue}: the concurrency in the code of workers holds again.` })
    },
  })
  if (data === undefined || data.concurrency === null) return null
  return (
    <section className="stack" aria-label="Concurrency">
      <p className="check-line warn-text">
        <span>
          Each worker runs {plural(data.concurrency, 'job')} of this queue at once, whatever its code says,{' '}
          {data.until === null ? (
            'until this is cleared'
          ) : (
            <>
              until <Time at={data.until} exact />
            </>
          )}
          {data.reason === null ? '' : `: ${data.reason}`}.
        </span>
        {canEdit ? (
          <button
            type="button"
            className="button"
            disabled={clear.isPending}
            onClick={() => {
              clear.mutate(undefined)
            }}
          >
            Clear concurrency
          </button>
        ) : null}
      </p>
      {canEdit ? (
        <CliLine
          command={shell('stint', 'queue', 'concurrency', queue, '--clear')}
          label="Clear concurrency, on the command line"
        />
      ) : null}
    </section>
  )
}
