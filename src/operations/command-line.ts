import type { OperationAction, OperationSettings } from '../core/operation.ts'

/** The command that does the same. */
export function commandLine(
  { action, where, ids }: { action: OperationAction; where: string | null; ids: readonly string[] },
  { canary, pace, stopIf, max, priority }: OperationSettings,
  reason: string | null,
): string {
  const noun = action === 'replay' || action === 'discard' || action === 'restore' ? 'dead' : 'job'
  const target = where === null ? ids : ['--where', where]
  const rules = [
    ...(stopIf.sameError === null ? [] : [`same>${stopIf.sameError}%`]),
    ...(stopIf.anyFailure === null ? [] : [`any>${stopIf.anyFailure}%`]),
  ]
  const words = [
    ...['stint', noun, action, ...target],
    // With `=`: the shell command would take a value that begins with a dash for another option.
    ...(priority === null ? [] : [`--priority=${priority}`]),
    ...(action === 'replay' && where !== null ? ['--canary', String(canary)] : []),
    ...(canary > 0 && rules.length > 0 && where !== null ? ['--stop-if', rules.join(',')] : []),
    ...(where === null ? [] : paceWords(action, pace)),
    ...(max === 10_000 || where === null ? [] : ['--max', String(max)]),
    ...(reason?.startsWith('-') === true ? [`--reason=${reason}`] : ['--reason', reason ?? '…']),
  ]
  return words.map(quoted).join(' ')
}

/** A replay always names its pace: without one, it is 20 a second if more than 100 jobs match. */
function paceWords(action: OperationAction, pace: number | null): string[] {
  if (pace !== null) return ['--pace', `${pace}/s`]
  return action === 'replay' ? ['--pace', 'max'] : []
}

/** Quotes a word for a POSIX shell. */
function quoted(word: string): string {
  return /^[\w.,:/@%+=…-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
