import { useId, useLayoutEffect, useRef } from 'react'
import type { ReactNode } from 'react'
import { Icon } from './Icon.tsx'

/** The browser's own modal dialog: focus stays inside and returns where it was, Escape closes. */
export function Dialog({
  title,
  close,
  children,
  footer,
  wide = false,
}: {
  title: string
  close: () => void
  children: ReactNode
  footer?: ReactNode
  wide?: boolean
}) {
  const ref = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  const closeNow = useRef(close)
  closeNow.current = close
  // With the rest of the screen: what is typed in between would go to what is below. And when it goes, the focus returns
  // before the next screen takes it.
  useLayoutEffect(() => {
    const dialog = ref.current
    if (dialog === null) return
    dialog.showModal()
    // What the dialog is for, not its way out.
    dialog.querySelector<HTMLElement>('[data-first], form input, form textarea')?.focus()
    const cancel = (event: Event): void => {
      event.preventDefault()
      closeNow.current()
    }
    // `cancel` alone is not enough: of a dialog that came with a link, before anything was clicked, the browser asks nobody.
    const escape = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return
      event.stopPropagation()
      cancel(event)
    }
    dialog.addEventListener('cancel', cancel)
    dialog.addEventListener('keydown', escape)
    return () => {
      dialog.removeEventListener('cancel', cancel)
      dialog.removeEventListener('keydown', escape)
      dialog.close()
    }
  }, [])
  return (
    <dialog ref={ref} className={wide ? 'wide' : ''} aria-labelledby={titleId}>
      <div className="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <button type="button" className="button quiet icon-only" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      <div className="dialog-body">{children}</div>
      {footer === undefined ? null : <div className="dialog-foot">{footer}</div>}
    </dialog>
  )
}
