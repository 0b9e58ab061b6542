import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, fchmodSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { join, parse } from 'node:path'
import { StintError } from '../core/errors.ts'
import { hasCode } from './errno.ts'
import type { Layout } from './layout.ts'

const keptLogBytes = 5_000_000

/** One of PostgreSQL's programs, to be run as the right user with its output in the log. */
export interface ProgramCall {
  layout: Layout
  log: string
  program: 'initdb' | 'postgres' | 'pg_ctl'
  args: string[]
  /** The text for its standard input. */
  input?: string | undefined
}

/** Starts a program apart from us: neither Ctrl-C in our terminal nor the end of this process reaches it. */
export async function startProgram({
  layout,
  log,
  program,
  args,
  input,
}: ProgramCall): Promise<ChildProcess> {
  const output = openSync(log, 'a', 0o600)
  try {
    // An older log may be readable by others: it contains statements, and so the inputs of jobs.
    fchmodSync(output, 0o600)
    const child = spawn(join(layout.bin, program), args, {
      ...layout.user,
      // A folder that every user can enter and that no unmounting waits for.
      cwd: parse(layout.home).root,
      env: plainEnvironment(),
      detached: true,
      windowsHide: true,
      stdio: [input === undefined ? 'ignore' : 'pipe', output, output],
    })
    await once(child, 'spawn')
    // It may end without having read this; its exit code says so.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(input)
    return child
  } catch (cause) {
    throw explainSpawn(program, cause)
  } finally {
    closeSync(output)
  }
}

/** Runs a program to its end; throws if it fails. */
export async function runProgram(call: ProgramCall): Promise<void> {
  const from = logSize(call.log)
  const child = await startProgram(call)
  const code = await exitOf(child)
  if (code !== 0) throw failedWithLog(`${call.program} ended with ${code}`, { log: call.log, from })
}

/** The exit code, or the name of the signal; also of a child that has already ended. */
export async function exitOf(child: ChildProcess): Promise<number | string> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return child.exitCode ?? child.signalCode ?? 'no exit code'
}

/** A log, and the position where the relevant part begins. */
export interface LogPart {
  log: string
  from: number
}

export function failedWithLog(what: string, { log, from }: LogPart): StintError {
  const lines = readLog({ log, from }).trimEnd().split('\n').slice(-20)
  return new StintError(
    'embedded-failed',
    `The embedded PostgreSQL did not start: ${what}. Set DATABASE_URL to use another server. Its log (${log}) ends with:\n${lines.join('\n')}`,
  )
}

export function readLog({ log, from }: LogPart): string {
  return existsSync(log) ? readFileSync(log).subarray(from).toString('utf8') : ''
}

export function logSize(log: string): number {
  return statSync(log, { throwIfNoEntry: false })?.size ?? 0
}

/** Keeps one old log, so that a server which starts over and over does not fill the disk. */
export function rotateLog(log: string): void {
  if (logSize(log) > keptLogBytes) renameSync(log, `${log}.old`)
}

/**
 * The part of our environment that a program needs to run. PGPORT, TZ or LANG would change the server, NODE_OPTIONS
 * the keeper, and the user that PostgreSQL runs as must not see our secrets.
 */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const system = ['PATH', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'SystemDrive', 'ComSpec']
  const libraries = ['LD_LIBRARY_PATH', 'NIX_LD', 'NIX_LD_LIBRARY_PATH']
  const pairs = [...system, ...libraries].map((name) => [name, process.env[name]] as const)
  return { ...Object.fromEntries(pairs.filter(([, value]) => value !== undefined)), LC_ALL: 'C', TZ: 'UTC' }
}

function explainSpawn(program: string, cause: unknown): unknown {
  // The file is there, so what is missing is the loader that its header names.
  if (process.platform === 'linux' && hasCode(cause, 'ENOENT')) {
    return new StintError(
      'embedded-unsupported',
      `The embedded PostgreSQL for ${process.platform}-${process.arch} needs glibc, which this system (Alpine?) does not have. Set DATABASE_URL to a PostgreSQL server.`,
      { cause },
    )
  }
  return new StintError('embedded-failed', `Could not run ${program}: ${String(cause)}`, { cause })
}
