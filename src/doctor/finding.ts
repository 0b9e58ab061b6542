/** ok: as it should be. warn: will hurt, or hurts a little. fail: hurts now, or loses data. unknown: could not be looked at. */
export type Level = 'ok' | 'warn' | 'fail' | 'unknown'

/** What a check came to. */
export interface Verdict {
  level: Level
  /** One line. */
  title: string
  /** What was seen, and what it means. */
  detail: string
  /** What to do about it, as SQL or a command, where that can be said in one. */
  fix?: string
}

export interface Finding extends Verdict {
  /** Which check it is of. */
  check: string
}

/** The worse of two and more; `unknown` is better than what is known to be wrong, and worse than ok. */
export function worst(levels: readonly Level[]): Level {
  const order: readonly Level[] = ['fail', 'warn', 'unknown', 'ok']
  return order.find((level) => levels.includes(level)) ?? 'ok'
}
