import { stoodStillAt } from '../../db/standstill.ts'

/**
 * Calls `tell` after `ms`, unless the returned function is called before. If this process was suspended in the meantime,
 * it waits `ms` once more: the answer may have arrived and not be read yet.
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
