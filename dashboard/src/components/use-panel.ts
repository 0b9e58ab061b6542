import { useEffect } from 'react'
import { useUrl } from '../url/use-url.ts'

export interface Panel {
  name: string | undefined
  open: (name: string) => void
  close: () => void
}

/** The open dialog is in the URL: Back closes it, and a link can open it. */
export function usePanel(): Panel {
  const { param, set } = useUrl()
  return {
    name: param('panel'),
    open: (name) => {
      set({ panel: name })
    },
    close: () => {
      set({ panel: undefined }, { replace: true })
    },
  }
}

/** Removes a dialog from the URL if it cannot open now. Otherwise a later change could open it unexpectedly. */
export function useClosed(panel: Panel, isImpossible: boolean): void {
  useEffect(() => {
    if (isImpossible) panel.close()
  }, [isImpossible])
}
