import { useUrl } from '../url/use-url.ts'

/** Which dialog is open is in the address too: Back closes it, a link opens it. */
export function usePanel(): { name: string | undefined; open: (name: string) => void; close: () => void } {
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
