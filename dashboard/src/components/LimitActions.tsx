import { useState } from 'react'
import { clearKeyRule, clearLimit, deleteLimit, overrideLimit, setKeyRule } from '../api/limits.ts'
import type { KeyRule, LimitDetail } from '../api/limits.ts'
import { because, shell } from '../text/shell.ts'
import { CliLine } from './CliLine.tsx'
import { Dialog } from './Dialog.tsx'
import { ProblemNote } from './ProblemNote.tsx'
import { ReasonField, TextField } from './TextField.tsx'
import { say } from './toasts.tsx'
import { useAct } from './use-act.ts'
import { useMe } from './use-me.ts'
import { usePanel } from './use-panel.ts'

export function LimitActions({ limit }: { limit: LimitDetail }) {
  const { can } = useMe()
  const panel = usePanel()
  const { name } = limit
  const clear = useAct(() => clearLimit(limit), {
    done: () => {
      say({ tone: 'done', text: `${name}: the rule in code holds again.` })
    },
  })
  const remove = useAct(() => deleteLimit(name), {
    done: () => {
      say({ tone: 'done', text: `${name} is deleted.` })
    },
  })
  if (!can('limit')) return <CliLine command={shell('stint', 'limit', 'get', name)} />
  const canClear = limit.override !== null || limit.broken?.includes('override') === true
  return (
    <div className="stack">
      <div className="group-actions">
        {limit.type === 'missing' ? null : (
          <button
            type="button"
            className="button primary"
            onClick={() => {
              panel.open('override')
            }}
          >
            Override…
          </button>
        )}
        {canClear ? (
          <button
            type="button"
            className="button"
            disabled={clear.isPending}
            onClick={() => {
              clear.mutate(undefined)
            }}
          >
            Clear override
          </button>
        ) : null}
        {limit.type === 'concurrency' && limit.byKey ? (
          <button
            type="button"
            className="button"
            onClick={() => {
              panel.open('key')
            }}
          >
            Rule for a key…
          </button>
        ) : null}
        {limit.isOrphan ? (
          <button
            type="button"
            className="button danger"
            disabled={remove.isPending}
            onClick={() => {
              panel.open('delete')
            }}
          >
            Delete…
          </button>
        ) : null}
      </div>
      <div className="cli-lines">
        <CliLine command={shell('stint', 'limit', 'get', name)} />
        {canClear ? (
          <CliLine
            command={shell('stint', 'limit', 'clear', name)}
            label="Clear the override, on the command line"
          />
        ) : null}
      </div>
      {panel.name === 'override' && limit.type !== 'missing' ? (
        <OverrideDialog limit={limit} close={panel.close} />
      ) : null}
      {panel.name === 'key' && limit.byKey ? <KeyDialog limit={limit} close={panel.close} /> : null}
      {panel.name === 'delete' && limit.isOrphan ? (
        <Dialog
          title={`Delete ${name}`}
          close={panel.close}
          footer={
            <button
              type="button"
              className="button primary danger"
              disabled={remove.isPending}
              onClick={() => {
                panel.close()
                remove.mutate(undefined)
              }}
            >
              Delete
            </button>
          }
        >
          <p>
            Jobs that it held back start. Its override and rules of keys are deleted too. A worker that has it
            in its code makes it again.
          </p>
          <CliLine command={shell('stint', 'limit', 'delete', name)} />
        </Dialog>
      ) : null}
    </div>
  )
}

/** Undefined for a text that is no duration: the server says what is wrong with it. */
function endOf(text: string): { body: object; words: string[] } {
  const given = text.trim()
  if (given === '') return { body: { until: 'cleared' }, words: ['--until', 'cleared'] }
  return { body: { for: given }, words: ['--for', given] }
}

const endHint = 'A duration such as 2h. Empty: until it is cleared.'

function OverrideDialog({ limit, close }: { limit: LimitDetail; close: () => void }) {
  const isRate = limit.type === 'rate'
  const [amount, setAmount] = useState(String((isRate ? limit.tokens : limit.max) ?? ''))
  const [length, setLength] = useState('1h')
  const [reason, setReason] = useState('')
  const end = endOf(length)
  const body = {
    [isRate ? 'tokens' : 'max']: Number(amount),
    ...end.body,
    ...(reason !== '' && { reason }),
  }
  const run = useAct(() => overrideLimit(limit, body), {
    isQuiet: true,
    done: () => {
      close()
      say({ tone: 'done', text: `${limit.name} is overridden.` })
    },
  })
  return (
    <Dialog
      title={`Override ${limit.name}`}
      close={close}
      footer={
        <button type="submit" form="override" className="button primary" disabled={run.isPending}>
          Override
        </button>
      }
    >
      <form
        id="override"
        onSubmit={(event) => {
          event.preventDefault()
          run.mutate(undefined)
        }}
      >
        <p>It takes effect within a second in all workers. Running jobs are not stopped.</p>
        <TextField
          label={isRate ? 'Tokens per period' : limit.byKey ? 'Jobs of each key at once' : 'Jobs at once'}
          hint={`In code: ${limit.declared ?? '?'}.${isRate ? '' : ' 0: none starts.'}`}
          type="number"
          min={isRate ? 1 : 0}
          required
          value={amount}
          set={setAmount}
        />
        <TextField label="For" hint={endHint} value={length} set={setLength} />
        <ReasonField value={reason} set={setReason} />
      </form>
      <CliLine
        command={shell(
          ...['stint', 'limit', 'set', limit.name, isRate ? '--tokens' : '--max', amount],
          ...end.words,
          ...because(reason),
        )}
      />
      {run.error === null ? null : <ProblemNote error={run.error} />}
    </Dialog>
  )
}

function KeyDialog({ limit, close }: { limit: LimitDetail; close: () => void }) {
  const [key, setKey] = useState(limit.keys[0]?.key ?? '')
  const [max, setMax] = useState('')
  const [weight, setWeight] = useState('')
  const [length, setLength] = useState('1h')
  const [reason, setReason] = useState('')
  const end = endOf(length)
  const body = {
    ...(max !== '' && { max: Number(max) }),
    ...(weight !== '' && { weight: Number(weight) }),
    ...end.body,
    ...(reason !== '' && { reason }),
  }
  const run = useAct(() => setKeyRule(limit.name, key, body), {
    isQuiet: true,
    done: () => {
      close()
      say({ tone: 'done', text: `${limit.name}: ${key} has a rule of its own.` })
    },
  })
  return (
    <Dialog
      title={`Rule for a key of ${limit.name}`}
      close={close}
      footer={
        <button type="submit" form="key" className="button primary" disabled={run.isPending}>
          Set rule
        </button>
      }
    >
      <form
        id="key"
        onSubmit={(event) => {
          event.preventDefault()
          run.mutate(undefined)
        }}
      >
        <TextField label="Key" required value={key} set={setKey} />
        <TextField
          label="Jobs at once"
          hint={`Others: ${limit.max ?? '?'}. 0: none starts.`}
          type="number"
          min={0}
          value={max}
          set={setMax}
        />
        <TextField
          label="Weight"
          hint="Its share of the slots among the keys of the queue, 1 to 1,000. Empty: unchanged."
          type="number"
          min={1}
          max={1_000}
          value={weight}
          set={setWeight}
        />
        <TextField label="For" hint={endHint} value={length} set={setLength} />
        <ReasonField value={reason} set={setReason} />
      </form>
      <CliLine
        command={shell(
          ...['stint', 'limit', 'key', limit.name, key],
          ...(max === '' ? [] : ['--max', max]),
          ...(weight === '' ? [] : ['--weight', weight]),
          ...end.words,
          ...because(reason),
        )}
      />
      {run.error === null ? null : <ProblemNote error={run.error} />}
    </Dialog>
  )
}

export function KeyRuleActions({ name, rule }: { name: string; rule: KeyRule }) {
  const { can } = useMe()
  const clear = useAct(() => clearKeyRule(name, rule.key), {
    done: () => {
      say({ tone: 'done', text: `${name}: ${rule.key} has no rule of its own.` })
    },
  })
  if (!can('limit')) return null
  return (
    <button
      type="button"
      className="button quiet"
      disabled={clear.isPending}
      aria-label={`Clear the rule of ${rule.key}`}
      title={shell('stint', 'limit', 'key', name, rule.key, '--clear')}
      onClick={() => {
        clear.mutate(undefined)
      }}
    >
      Clear
    </button>
  )
}
