import { useId, useLayoutEffect, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { jobsQuery } from '../api/jobs.ts'
import { kindsQuery } from '../api/system.ts'
import { queuesQuery } from '../api/queues.ts'
import { useLive } from '../api/use-live.ts'
import { isIdEnd, isUuid } from '../text/format.ts'
import { token } from '../text/where.ts'
import { query } from '../url/use-url.ts'
import { Icon } from './Icon.tsx'
import type { IconName } from './Icon.tsx'
import { screens } from './screens.ts'

interface Place {
  icon: IconName
  name: string
  about: string
  path: string
}

/** Type a job's id, the name of a queue, kind or screen, or a filter. */
export function JumpBar({ close }: { close: () => void }) {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const [, navigate] = useLocation()
  const dialog = useRef<HTMLDialogElement>(null)
  const listId = useId()
  const places = usePlaces(text.trim())
  // A layout effect, for the same reasons as in Dialog.tsx.
  useLayoutEffect(() => {
    const box = dialog.current
    box?.showModal()
    return () => {
      box?.close()
    }
  }, [])
  const go = (place: Place | undefined): void => {
    if (place === undefined) return
    close()
    navigate(place.path)
  }
  return (
    <dialog ref={dialog} className="jump-bar" aria-label="Jump" onCancel={close}>
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={places.length > 0 ? `${listId}-${chosen}` : undefined}
        aria-label="Jump to"
        placeholder="A job's id, a queue, kind or screen, or a filter"
        autoComplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={(event) => {
          const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
          if (event.key === 'Enter') go(places[chosen])
          else if (step !== 0) setChosen((chosen + step + places.length) % Math.max(1, places.length))
          else return
          event.preventDefault()
        }}
      />
      <ul id={listId} role="listbox" aria-label="Results">
        {places.map((place, index) => (
          <li
            key={place.path}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => {
              go(place)
            }}
          >
            <Icon name={place.icon} />
            <span>{place.name}</span>
            <span className="muted">{place.about}</span>
          </li>
        ))}
      </ul>
    </dialog>
  )
}

function usePlaces(text: string): Place[] {
  const { data: queues } = useLive(queuesQuery())
  const { data: kinds } = useLive(kindsQuery())
  const end = isIdEnd(text) ? text.toLowerCase().replace('…', '') : undefined
  const { data: ending } = useLive({
    ...jobsQuery(`id:${end ?? ''}`, undefined, 5),
    enabled: end !== undefined,
  })
  if (isUuid(text)) return [{ icon: 'jobs', name: text, about: 'job', path: `/jobs/${text.toLowerCase()}` }]
  const jobs = end === undefined ? [] : (ending?.items ?? []).filter((item) => item.id.endsWith(end))
  const all: Place[] = [
    ...screens.map((screen): Place => ({
      icon: screen.icon,
      name: screen.title,
      about: `g ${screen.key}`,
      path: screen.path,
    })),
    ...(queues?.items ?? []).map((item): Place => ({
      icon: 'queues',
      name: item.queue,
      about: 'queue',
      path: `/queues/${encodeURIComponent(item.queue)}`,
    })),
    ...(kinds?.items ?? []).map((item): Place => ({
      icon: 'jobs',
      name: item.kind,
      about: 'jobs of this kind',
      path: `/jobs${query({ where: token('kind', item.kind) })}`,
    })),
  ]
  const found = all.filter((place) => place.name.toLowerCase().includes(text.toLowerCase())).slice(0, 10)
  found.push(
    ...jobs.map((item): Place => ({
      icon: item.state,
      name: `…${item.id.slice(-12)}`,
      about: `${item.kind}, ${item.state}`,
      path: `/jobs/${item.id}`,
    })),
  )
  // Error groups are shown by their first characters.
  if (/^[\da-f]{4,16}$/i.test(text)) {
    found.push({
      icon: 'dead',
      name: text,
      about: 'dead letters of this error group',
      path: `/jobs${query({ where: `state:dead error:${text.toLowerCase()}` })}`,
    })
    return found
  }
  if (text.includes(':') || (text !== '' && found.length === 0)) {
    found.push({
      icon: 'search',
      name: text,
      about: 'find jobs by this filter',
      path: `/jobs${query({ where: text })}`,
    })
  }
  return found
}
