import type { Session } from '../systems/system.ts'

/** A figure counts only if every acknowledged job is really in the store, and no other. */
export async function assertStored(session: Session, acknowledged: number): Promise<number> {
  const stored = await session.count()
  if (stored !== acknowledged)
    throw new Error(`${acknowledged} jobs were acknowledged, but the store has ${stored}`)
  return stored
}
