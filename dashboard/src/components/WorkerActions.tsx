import { useState } from 'react'
import { orderWorker } from '../api/system.ts'
import type { WorkerItem, WorkerVerb } from '../api/system.ts'
import { shortId } from '../text/format.ts'
import { because, shell } from '../text/shell.ts'
import { useUrl } from '../url/use-url.ts'
import { FormDialog } from './FormDialog.tsx'
import { ReasonField } from './TextField.tsx'
import { say } from './toasts.tsx'
import { useAct } from './use-act.ts'

const texts: Readonly<Record<WorkerVerb, { button: string; does: string; done: string }>> = {
  pause: {
    button: 'Pause',
    does: 'It claims no more jobs and finishes those that run, until it is resumed or restarted. Jobs that have not started go back to their queue.',
    done: 'was asked to pause',
  },
  resume: { button: 'Resume', does: 'It claims jobs again.', done: 'was asked to resume' },
  drain: {
    button: 'Drain',
    does: 'It stops as on SIGTERM: running jobs get its drain time, then its process ends. This cannot be undone. A supervisor may start the process again.',
    done: 'was asked to stop',
  },
}

/** What a worker in this state can be asked to do. */
function verbsFor({ status, wanted }: WorkerItem): readonly WorkerVerb[] {
  if (status === 'lost' || wanted?.state === 'draining') return []
  return wanted?.state === 'paused' ? ['resume', 'drain'] : ['pause', 'drain']
}

/** The buttons of one worker. Each opens its dialog, which the URL names. */
export function WorkerButtons({ worker }: { worker: WorkerItem }) {
  const { set } = useUrl()
  return (
    <span className="row-actions">
      {verbsFor(worker).map((verb) => (
        <button
          key={verb}
          type="button"
          className={`button ${verb === 'drain' ? 'danger' : ''}`}
          aria-label={`${texts[verb].button} ${shortId(worker.id)}`}
          onClick={() => {
            set({ worker: worker.id, panel: verb })
          }}
        >
          {texts[verb].button}…
        </button>
      ))}
    </span>
  )
}

/** The dialog that the URL names, if its worker can still be asked to do this. */
export function WorkerDialog({ workers }: { workers: readonly WorkerItem[] }) {
  const { param, set } = useUrl()
  const worker = workers.find(({ id }) => id === param('worker'))
  const verb = worker === undefined ? undefined : verbsFor(worker).find((one) => one === param('panel'))
  if (worker === undefined || verb === undefined) return null
  return (
    <OrderDialog
      key={`${verb} ${worker.id}`}
      worker={worker}
      verb={verb}
      close={() => {
        set({ worker: undefined, panel: undefined }, { replace: true })
      }}
    />
  )
}

function OrderDialog({
  worker: { id, host, pid },
  verb,
  close,
}: {
  worker: WorkerItem
  verb: WorkerVerb
  close: () => void
}) {
  const { button, does, done } = texts[verb]
  const [reason, setReason] = useState('')
  const run = useAct(() => orderWorker(id, verb, reason === '' ? {} : { reason }), {
    isQuiet: true,
    done: () => {
      close()
      say({ tone: 'done', text: `Worker ${shortId(id)} ${done}.` })
    },
  })
  return (
    <FormDialog
      title={`${button} worker ${shortId(id)}`}
      button={button}
      isDanger={verb === 'drain'}
      command={shell('stint', 'worker', verb, id, ...because(reason))}
      run={run}
      close={close}
    >
      <p>
        <strong>
          {host ?? 'unknown host'}
          {pid === null ? '' : `/${pid}`}
        </strong>{' '}
        follows within its poll interval, 1 second unless its code says otherwise. {does}
      </p>
      <ReasonField hint="Shown with the worker." value={reason} set={setReason} />
    </FormDialog>
  )
}
