import { choose, UsageError } from './arguments.ts'
import { say } from './output/output.ts'

/** Runs a command with its arguments and returns its exit code. */
export type Command = (args: readonly string[]) => Promise<number>

/** A command of several verbs: `stint job list`. */
export function nounOf(help: string, verbs: Readonly<Record<string, Command>>): Command {
  const names = Object.keys(verbs)
  return async ([word, ...rest]) => {
    if (word === '--help' || word === '-h') return say(help)
    if (word === undefined) throw new UsageError(`Missing command: ${names.join(', ')}.`)
    const verb = verbs[choose('command', word, names)]
    if (verb === undefined) throw new UsageError(`Unknown command '${word}'.`)
    return verb(rest)
  }
}
