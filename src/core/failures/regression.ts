/** A group of errors that was resolved, and a failure of it since. */
export interface Recurrence {
  /** The version of the app that failed; null if it has none. */
  version: string | null
  /** When that version first failed with this error, and when it last did. */
  versionFirstAt: number
  lastAt: number
  resolvedAt: number
  /** The version that has the repair; null if none was given. */
  resolvedIn: string | null
}

/**
 * Whether an error that was resolved is back, or only comes from processes that do not have the repair yet.
 *
 * Without a version to compare, any failure since then counts. If the versions can be ordered, failures of the resolved
 * version and of newer ones count. If they cannot (hashes), failures of the resolved version count, and of any version
 * that first failed this way after the group was resolved: a version that failed before is an old one.
 */
export function isRegression(recurrence: Recurrence): boolean {
  const { version, versionFirstAt, lastAt, resolvedAt, resolvedIn } = recurrence
  if (lastAt <= resolvedAt) return false
  if (resolvedIn === null || version === null || version === resolvedIn) return true
  const order = compareVersions(version, resolvedIn)
  return order === undefined ? versionFirstAt > resolvedAt : order >= 0
}

/** Negative if `a` is older than `b`; undefined if the two cannot be ordered. */
export function compareVersions(a: string, b: string): number | undefined {
  const [left, right] = [partsOf(a), partsOf(b)]
  if (left === undefined || right === undefined) return undefined
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** `v214`, `1.12.3`, `2026.11.16-2`: numbers, with dots or dashes between them. */
function partsOf(version: string): number[] | undefined {
  if (!/^v?\d{1,15}(?:[.-]\d{1,15}){0,7}$/.test(version)) return undefined
  return version.replace('v', '').split(/[.-]/).map(Number)
}
