import type { Action } from '../../../src/server/api/common.ts'
import { meQuery } from '../api/system.ts'
import type { Me } from '../api/system.ts'
import { useLive } from '../api/use-live.ts'

/** The signed-in person and their permissions. A control for a forbidden action is hidden; the server checks again anyway. */
export function useMe(): { me: Me | undefined; can: (action: Action) => boolean } {
  const { data: me } = useLive(meQuery())
  return {
    me,
    can: (action) =>
      me !== undefined && me.can.includes(action) && (!me.readOnly || action.startsWith('view')),
  }
}
