import { stoodStillAt } from '../../db/standstill.ts'

/**
 * Tells when nothing was heard for so long. Where this process stood still, it waits as long again: the answer may be
 * there, unread. Gives the way to end it.
 */
export function afterSilence(ms: number, tell: () => void): () => void {
  const dueAt = performance.now() + ms
  let timer = setTimeout(() => {
    if (stoodStillAt(dueAt)) timer = setTimeout(tell, ms)
    else tell()
  }, ms)
  return () => {
    clearTimeout(timer)
  }
}
