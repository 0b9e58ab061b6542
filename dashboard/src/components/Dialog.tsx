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
  // Before paint: keys that are typed in between would go to the screen below. On unmount the focus returns before the
  // next screen takes it.
  useLayoutEffect(() => {
    const dialog = ref.current
    if (dialog === null) return
    dialog.showModal()
    // Focus the first field, not the close button.
    dialog.querySelector<HTMLElement>('[data-first], form input, form textarea')?.focus()
    const cancel = (event: Event): void => {
      event.preventDefault()
      closeNow.current()
    }
    // `cancel` alone is not enough: the browser does not send it for a dialog that a link opened, before the first click.
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
