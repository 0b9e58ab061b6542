import { Link } from 'wouter'
import { resumeQueue } from '../api/queues.ts'
import type { Pause } from '../api/queues.ts'
import { Icon } from './Icon.tsx'
import { NewRows } from './NewRows.tsx'
import { Time } from './Time.tsx'
import { say } from './toasts.tsx'
import { useAct } from './use-act.ts'
import { useHeld } from './use-held.ts'
import { useMe } from './use-me.ts'

interface Paused extends Pause {
  queue: string
}

/** What is paused, by whom, since when, until when and why. */
export function PauseBand({
  queues,
  isOverview = false,
}: {
  queues: readonly { queue: string; pauses: readonly Pause[] }[]
  /** Each leads to the page of its queue, and none moves under the pointer: others than this person act on these queues. */
  isOverview?: boolean
}) {
  const all = queues.flatMap(({ queue, pauses }) => pauses.map((pause): Paused => ({ queue, ...pause })))
  const held = useHeld(all, nameOf)
  const rows = isOverview ? held.rows : all.map((item) => ({ item, key: nameOf(item), isGone: false }))
  const { can } = useMe()
  const resume = useAct((paused: Paused) => resumeQueue(paused.queue, partOf(paused)), {
    done: (_, paused) => {
      say({ tone: 'done', text: `${nameOf(paused)} is resumed.` })
    },
  })
  if (rows.length === 0) return null
  return (
    <section className="problems pauses" aria-label="Paused">
      {isOverview ? <NewRows waiting={held.waiting} letIn={held.letIn} /> : null}
      <ul>
        {rows.map(({ item, key, isGone }) => (
          <li key={key} className={`problem problem-warn ${isGone ? 'gone' : ''}`}>
            <Icon name="pause" />
            <span className="problem-words">
              <strong>{nameOf(item)} is paused</strong>{' '}
              <span>
                by {item.by ?? 'an unknown login'}
                {item.since === null ? null : (
                  <>
                    {' '}
                    <Time at={item.since} />
                  </>
                )}
                ,{' '}
                {item.until === null ? (
                  'until it is resumed'
                ) : (
                  <>
                    ends <Time at={item.until} exact={isFar(item.until)} />
                  </>
                )}
                : {item.reason ?? 'no reason given'}
              </span>
            </span>
            {isGone ? <span className="muted">resumed</span> : null}
            {can('pause') && !isGone ? (
              <button
                type="button"
                className="button"
                disabled={resume.isPending}
                aria-label={`Resume ${nameOf(item)}`}
                onClick={() => {
                  resume.mutate(item)
                }}
              >
                Resume
              </button>
            ) : null}
            {isOverview ? (
              <Link href={`/queues/${encodeURIComponent(item.queue)}`}>
                Queue <Icon name="right" />
              </Link>
            ) : null}
          </li>
        ))}
      </ul>
    </section>
  )
}

function nameOf({ queue, kind, key }: Pick<Paused, 'queue' | 'kind' | 'key'>): string {
  if (kind !== null) return `Kind ${kind} of ${queue}`
  return key === null ? queue : `Key ${key} of ${queue}`
}

/** A time in days says little: `in 1169d19h`. */
function isFar(at: string): boolean {
  return Date.parse(at) - Date.now() > dayMs
}

const dayMs = 86_400_000

function partOf({ kind, key }: Pick<Pause, 'kind' | 'key'>): { kind?: string; key?: string } {
  return { ...(kind !== null && { kind }), ...(key !== null && { key }) }
}

/** Whether the whole queue is paused, or some kinds or keys of it. */
export function pausedAs(pauses: readonly Pause[]): 'paused' | 'partly paused' | undefined {
  if (pauses.length === 0) return undefined
  return pauses.some(({ kind, key }) => kind === null && key === null) ? 'paused' : 'partly paused'
}
