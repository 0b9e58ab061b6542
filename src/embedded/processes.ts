import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, isAbsolute } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** Whether a process runs under this pid, ours or not. A zombie does not count: its parent may never reap it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
  return !isZombie(pid)
}

/**
 * Whether the process is the postmaster of this data directory, and not one that got the pid of a dead one.
 * In doubt the answer is yes: a second server on one directory is worse than none.
 */
export async function isPostmasterOf(pid: number, dataDir: string): Promise<boolean> {
  if (!isAlive(pid)) return false
  const { program, commandLine } = await describe(pid)
  // A child of another server calls itself `postgres: checkpointer` and the like.
  if (program !== 'postgres' && program !== 'postgres.exe') return false
  const argument = commandLine.indexOf(' -D ')
  if (argument < 0) return true
  const rest = commandLine.slice(argument + ' -D '.length)
  return !isAbsolute(rest) || rest === dataDir || rest.startsWith(`${dataDir} `)
}

/** Whether the process is a keeper, as far as its command line can be seen. */
export async function isKeeper(pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false
  const { commandLine } = await describe(pid)
  return commandLine === '' || /embedded[\\/]keeper/.test(commandLine)
}

async function describe(pid: number): Promise<{ program: string; commandLine: string }> {
  try {
    if (process.platform === 'linux') {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      return { program: basename(words[0] ?? ''), commandLine: words.join(' ') }
    }
    if (process.platform === 'win32') {
      const { stdout } = await execute('tasklist', ['/fi', `PID eq ${pid}`, '/fo', 'csv', '/nh'])
      return { program: /^"([^"]*)"/.exec(stdout.trim())?.[1] ?? '', commandLine: '' }
    }
    const [name, line] = await Promise.all([ps(pid, 'comm='), ps(pid, 'args=')])
    return { program: basename(name), commandLine: line }
  } catch {
    // It ended while we looked.
    return { program: '', commandLine: '' }
  }
}

async function ps(pid: number, column: string): Promise<string> {
  const { stdout } = await execute('ps', ['-ww', '-o', column, '-p', String(pid)])
  return stdout.trim()
}

function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false
  try {
    // The state follows the name, which is in brackets and may itself contain any character.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z')
  } catch {
    return false
  }
}
