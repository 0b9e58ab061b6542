import { useId, useLayoutEffect, useState } from 'react'
import type { State } from '../../../src/server/api/common.ts'
import { ApiError } from '../api/client.ts'
import { filterWords, tokens, valueOf, withToken } from '../text/where.ts'
import { Icon } from './Icon.tsx'

const states: readonly State[] = [
  'ready',
  'running',
  'retrying',
  'scheduled',
  'waiting',
  'succeeded',
  'cancelled',
  'dead',
]

/** The filter, as text that the API and the CLI also accept, with a button for each state. */
export function QueryBar({
  where,
  search,
  error,
}: {
  where: string
  search: (where: string) => void
  error: Error | null
}) {
  const [text, setText] = useState(where)
  const id = useId()
  // Before paint: it replaces the text, and would delete what the person types after that.
  useLayoutEffect(() => {
    setText(where)
  }, [where])
  const state = valueOf(where, 'state')
  const isRefused = error instanceof ApiError && [400, 422].includes(error.problem.status)
  const last = tokens(text).at(-1) ?? ''
  const offers =
    text.endsWith(' ') || text === ''
      ? filterWords
      : filterWords.filter(([word]) => word.startsWith(last) && word !== last)
  return (
    <form
      className="query"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        search(text.trim())
      }}
    >
      <div className="query-line">
        <Icon name="search" />
        <input
          data-filter
          type="text"
          aria-label="Filter"
          aria-invalid={isRefused}
          aria-describedby={`${id}-words`}
          placeholder="state:dead queue:billing kind:charge.* age>1h"
          autoComplete="off"
          autoCapitalize="off"
          spellcheck={false}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value)
          }}
        />
        {text === '' ? null : (
          <button
            type="button"
            className="button quiet icon-only"
            aria-label="Clear the filter"
            onClick={() => {
              search('')
            }}
          >
            <Icon name="close" />
          </button>
        )}
        <button type="submit" className="button">
          Filter
        </button>
      </div>
      <div className="query-words" id={`${id}-words`}>
        {offers.map(([word, meaning]) => (
          <button
            key={word}
            type="button"
            className="word"
            title={meaning}
            onClick={(event) => {
              setText(
                text.endsWith(' ') || text === ''
                  ? `${text}${word}`
                  : `${text.slice(0, text.length - last.length)}${word}`,
              )
              event.currentTarget.closest('form')?.querySelector('input')?.focus()
            }}
          >
            {word}
          </button>
        ))}
      </div>
      <div className="chips" role="group" aria-label="State">
        <Chip
          isOn={state === undefined && !where.includes('is:discarded')}
          label="any state"
          run={() => {
            search(withToken(withToken(where, 'state', undefined), 'is', undefined))
          }}
        />
        {states.map((each) => (
          <Chip
            key={each}
            isOn={state === each}
            label={each}
            icon={each}
            run={() => {
              search(withToken(withToken(where, 'is', undefined), 'state', each))
            }}
          />
        ))}
        <Chip
          isOn={where.includes('is:discarded')}
          label="trash"
          run={() => {
            search(withToken(withToken(where, 'state', undefined), 'is', 'discarded'))
          }}
        />
      </div>
    </form>
  )
}

function Chip({ isOn, label, icon, run }: { isOn: boolean; label: string; icon?: State; run: () => void }) {
  return (
    <button
      type="button"
      className={`chip ${icon === undefined ? '' : `state-${icon}`}`}
      aria-pressed={isOn}
      onClick={run}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      <span>{label}</span>
    </button>
  )
}
