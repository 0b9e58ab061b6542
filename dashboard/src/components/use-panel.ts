import { useEffect } from 'react'
import { useUrl } from '../url/use-url.ts'

export interface Panel {
  name: string | undefined
  open: (name: string) => void
  close: () => void
}

/** Which dialog is open is in the address too: Back closes it, a link opens it. */
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

/** Forgets a dialog that cannot open now: it would open later, when something else has changed, and surprise. */
export function useClosed(panel: Panel, isImpossible: boolean): void {
  useEffect(() => {
    if (isImpossible) panel.close()
  }, [isImpossible])
}
