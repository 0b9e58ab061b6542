import { useLayoutEffect, useRef } from 'react'
import type { ReactNode } from 'react'

/** Whether a screen was shown before. For the first screen the browser itself informs a screen reader. */
let isMoved = false

/** A screen: its title, its actions and its content. */
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
  // Focus the heading, so that a screen reader reads it. Done when this screen is mounted, because its code may load
  // after the click; and before paint, so that it does not move a focus that the person has set since.
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
