import { useState } from 'react'
import { actOnBreaker } from '../api/breakers.ts'
import type { BreakerDetail } from '../api/breakers.ts'
import { endHint, endOf, endWords } from '../text/end.ts'
import { because, shell } from '../text/shell.ts'
import { CliLine } from './CliLine.tsx'
import { FormDialog } from './FormDialog.tsx'
import { ReasonField, TextField } from './TextField.tsx'
import { say } from './toasts.tsx'
import { useAct } from './use-act.ts'
import { useMe } from './use-me.ts'
import { usePanel } from './use-panel.ts'

export function BreakerActions({ breaker: { name, state, forced } }: { breaker: BreakerDetail }) {
  const { can } = useMe()
  const panel = usePanel()
  const probe = useAct(() => actOnBreaker(name, 'probe', {}), {
    done: () => {
      say({ tone: 'done', text: `${name}: the next job of a worker probes it.` })
    },
  })
  // The server refuses to probe a breaker that a person has opened.
  const canProbe = can('probe') && state === 'open' && forced === null
  const opening = (verb: string) => () => {
    panel.open(verb)
  }
  return (
    <div className="stack">
      {canProbe || can('breaker') ? (
        <div className="group-actions">
          {canProbe ? (
            <button
              type="button"
              className="button primary"
              disabled={probe.isPending}
              onClick={() => {
                probe.mutate(undefined)
              }}
            >
              Probe now
            </button>
          ) : null}
          {can('breaker') ? (
            <>
              <button type="button" className="button" onClick={opening('open')}>
                Open…
              </button>
              <button type="button" className="button" onClick={opening('close')}>
                Close…
              </button>
              <button type="button" className="button" onClick={opening('reset')}>
                Reset…
              </button>
            </>
          ) : null}
        </div>
      ) : null}
      <div className="cli-lines">
        <CliLine command={shell('stint', 'breaker', 'get', name)} />
        {canProbe ? (
          <CliLine
            command={shell('stint', 'breaker', 'probe', name)}
            label="Probe now, on the command line"
          />
        ) : null}
      </div>
      {can('breaker') && (panel.name === 'open' || panel.name === 'close') ? (
        <ForceDialog key={panel.name} name={name} verb={panel.name} close={panel.close} />
      ) : null}
      {can('breaker') && panel.name === 'reset' ? <ResetDialog name={name} close={panel.close} /> : null}
    </div>
  )
}

const texts = {
  open: {
    does: 'Its jobs wait until this end, even if their calls would succeed. Then it is probed. Running jobs go on.',
    end: '30m',
    done: 'is forced open',
  },
  close: {
    does: 'Its jobs run until this end, however many fail. Then it counts failures again.',
    end: '5m',
    done: 'is forced closed',
  },
} as const

function ForceDialog({ name, verb, close }: { name: string; verb: 'open' | 'close'; close: () => void }) {
  const { does, end: usual, done } = texts[verb]
  const [end, setEnd] = useState<string>(usual)
  const [reason, setReason] = useState('')
  const run = useAct(() => actOnBreaker(name, verb, { ...endOf(end), ...(reason !== '' && { reason }) }), {
    isQuiet: true,
    done: () => {
      close()
      say({ tone: 'done', text: `${name} ${done}.` })
    },
  })
  const button = verb === 'open' ? 'Open' : 'Close'
  return (
    <FormDialog
      title={`${button} the breaker ${name}`}
      button={button}
      command={shell('stint', 'breaker', verb, name, ...endWords(end), ...because(reason))}
      run={run}
      close={close}
    >
      <p>{does}</p>
      <TextField label="End" hint={endHint} required value={end} set={setEnd} />
      <ReasonField hint="Shown with the breaker." value={reason} set={setReason} />
    </FormDialog>
  )
}

function ResetDialog({ name, close }: { name: string; close: () => void }) {
  const [reason, setReason] = useState('')
  const run = useAct(() => actOnBreaker(name, 'reset', reason === '' ? {} : { reason }), {
    isQuiet: true,
    done: () => {
      close()
      say({ tone: 'done', text: `${name} is closed and counts anew.` })
    },
  })
  return (
    <FormDialog
      title={`Reset the breaker ${name}`}
      button="Reset"
      command={shell('stint', 'breaker', 'reset', name, ...because(reason))}
      run={run}
      close={close}
    >
      <p>It closes, its jobs run, and it forgets the failures so far. A forced state ends.</p>
      <ReasonField value={reason} set={setReason} />
    </FormDialog>
  )
}
