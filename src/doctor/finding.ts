/**
 * ok: no problem. warn: a small problem, or one that will grow. fail: a serious problem now, or a risk of data loss.
 * unknown: the check could not run.
 */
export type Level = 'ok' | 'warn' | 'fail' | 'unknown'

/** The result of a check. */
export interface Verdict {
  level: Level
  /** One line. */
  title: string
  /** What the check found, and what it means. */
  detail: string
  /** What to do about it, as SQL or a command, if one exists. */
  fix?: string
}

export interface Finding extends Verdict {
  /** The name of the check. */
  check: string
}

/** The worst of some levels; `unknown` is better than `warn` and `fail`, and worse than `ok`. */
export function worst(levels: readonly Level[]): Level {
  const order: readonly Level[] = ['fail', 'warn', 'unknown', 'ok']
  return order.find((level) => levels.includes(level)) ?? 'ok'
}
