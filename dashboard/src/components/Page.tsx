import { useLayoutEffect, useRef } from 'react'
import type { ReactNode } from 'react'

/** Whether a screen was shown already: the browser itself tells a reader about the first. */
let isMoved = false

/** A screen: its name, what can be done here, and the rest. */
export function Page({
  title,
  heading,
  actions,
  children,
}: {
  title: string
  heading?: ReactNode
  actions?: ReactNode
  children?: ReactNode
}) {
  const name = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    document.title = `${title} · Stint`
  }, [title])
  // A reader hears where a link led, when it is there: a screen may be loaded first. And at once, so that the focus is not
  // taken from where the person has moved it since.
  useLayoutEffect(() => {
    if (isMoved) name.current?.focus()
    isMoved = true
  }, [])
  return (
    <>
      <div className="page-head">
        <h1 tabIndex={-1} ref={name}>
          {heading ?? title}
        </h1>
        {actions === undefined ? null : <div className="page-actions">{actions}</div>}
      </div>
      {children}
    </>
  )
}

export function Section({
  title,
  aside,
  children,
}: {
  title: string
  aside?: ReactNode
  children: ReactNode
}) {
  return (
    <section className="card">
      <div className="card-head">
        <h2>{title}</h2>
        {aside === undefined ? null : <div className="card-aside">{aside}</div>}
      </div>
      {children}
    </section>
  )
}
