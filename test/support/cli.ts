import { AsyncLocalStorage } from 'node:async_hooks'
import { runCommand } from '../../src/cli/run-command.ts'
import { finish } from './processes.ts'

export interface CommandResult {
  /** The exit code. */
  code: number
  stdout: string
  stderr: string
}

/** What one command has printed so far. Commands may run at the same time, so each finds its output by its async context. */
const printed = new AsyncLocalStorage<{ stdout: string; stderr: string }>()
let running = 0
let restore: () => void = () => undefined

/**
 * Runs `stint …` in this process, against this database. Starting a process costs half a second of CPU and shows nothing
 * more; test/cli.test.ts and test/pack.test.ts start the real program.
 */
export async function runStint(args: readonly string[], databaseUrl = ''): Promise<CommandResult> {
  const output = { stdout: '', stderr: '' }
  if (running++ === 0) restore = takeOver(databaseUrl)
  try {
    const code = await printed.run(output, () => runCommand(args))
    return { code, ...output }
  } finally {
    if (--running === 0) restore()
  }
}

/** Runs a command line as a person types it: a real shell splits it into arguments. */
export async function typed(line: string, databaseUrl: string): Promise<CommandResult> {
  const script = `stint() { printf '%s\\0' "$@"; }\n${line}\n`
  const { code, stdout, stderr } = await finish('/bin/sh', ['-c', script])
  if (code !== 0) throw new Error(`The shell refuses ${line}: ${stderr}`)
  return runStint(stdout.split('\0').slice(0, -1), databaseUrl)
}

/** Captures what commands print and points DATABASE_URL at their database. Returns the function that undoes both. */
function takeOver(databaseUrl: string): () => void {
  const { log, error } = console
  const { DATABASE_URL: before } = process.env
  console.log = (text: string) => {
    const output = printed.getStore()
    if (output === undefined) log(text)
    else output.stdout += `${text}\n`
  }
  console.error = (text: string) => {
    const output = printed.getStore()
    if (output === undefined) error(text)
    else output.stderr += `${text}\n`
  }
  process.env['DATABASE_URL'] = databaseUrl
  return () => {
    Object.assign(console, { log, error })
    if (before === undefined) delete process.env['DATABASE_URL']
    else process.env['DATABASE_URL'] = before
  }
}
