import { useEffect } from 'react'
import type { ReactNode } from 'react'

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
  useEffect(() => {
    document.title = `${title} · Stint`
  }, [title])
  return (
    <>
      <div className="page-head">
        <h1 tabIndex={-1}>{heading ?? title}</h1>
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
