import { useSyncExternalStore } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Icon } from './Icon.tsx'

/** The result of an action. The newest toast stays until it is dismissed or replaced, so a slow reader misses nothing. */
interface Toast {
  tone: 'done' | 'fail'
  text: ReactNode
  undo?: (() => void) | undefined
  link?: { href: string; label: string } | undefined
}

let toast: Toast | undefined
const listeners = new Set<() => void>()

export function say(next: Toast | undefined): void {
  toast = next
  for (const listener of listeners) listener()
}

export function Toasts() {
  const current = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toast,
  )
  return (
    <div className="toasts" role="status">
      {current === undefined ? null : (
        <div className={`toast toast-${current.tone}`}>
          <Icon name={current.tone === 'done' ? 'succeeded' : 'fail'} />
          <span>{current.text}</span>
          {current.link === undefined ? null : <Link href={current.link.href}>{current.link.label}</Link>}
          {current.undo === undefined ? null : (
            <button
              type="button"
              className="button"
              onClick={() => {
                say(undefined)
                current.undo?.()
              }}
            >
              <Icon name="undo" /> Undo
            </button>
          )}
          <button
            type="button"
            className="button quiet icon-only"
            aria-label="Dismiss"
            onClick={() => {
              say(undefined)
            }}
          >
            <Icon name="close" />
          </button>
        </div>
      )}
    </div>
  )
}
