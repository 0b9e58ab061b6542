import type { Action } from '../../../src/server/api/common.ts'
import { meQuery } from '../api/system.ts'
import type { Me } from '../api/system.ts'
import { useLive } from '../api/use-live.ts'

/** Who looks, and what they may do: a control that would be refused is not there. The server decides again anyway. */
export function useMe(): { me: Me | undefined; can: (action: Action) => boolean } {
  const { data: me } = useLive(meQuery())
  return {
    me,
    can: (action) =>
      me !== undefined && me.can.includes(action) && (!me.readOnly || action.startsWith('view')),
  }
}
