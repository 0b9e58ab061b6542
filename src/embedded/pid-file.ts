import { randomUUID } from 'node:crypto'
import { readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from './errno.ts'

/** A server creates its file and fills it a moment later: only an old empty one was left by a crash. */
const fillMs = 2_000

/** What a PostgreSQL server writes about itself into `postmaster.pid`, its own lock on the data directory. */
export interface PidFile {
  text: string
  /** Undefined while the file is being written. */
  pid: number | undefined
  port: number | undefined
  isReady: boolean
}

export async function readPidFile(dataDir: string): Promise<PidFile | undefined> {
  try {
    return parsePidFile(await readFile(pidFilePath(dataDir), 'utf8'))
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** The lines are: pid, data directory, start time, port, socket directory, address, shared memory, status. */
export function parsePidFile(text: string): PidFile {
  const lines = text.split('\n')
  return { text, pid: integer(lines[0]), port: integer(lines[3]), isReady: lines[7]?.trim() === 'ready' }
}

/** Whether a file without a pid is a remnant, and not one that a server is about to fill. */
export async function isAbandoned(dataDir: string): Promise<boolean> {
  try {
    return Date.now() - (await stat(pidFilePath(dataDir))).mtimeMs > fillMs
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
}

/**
 * Removes the file of a dead server. It is moved aside first and read again, because a server that starts at this
 * moment may have written its own file: that one is moved back.
 */
export async function removeStalePidFile(dataDir: string, stale: PidFile): Promise<void> {
  const aside = `${pidFilePath(dataDir)}.${randomUUID()}`
  try {
    await rename(pidFilePath(dataDir), aside)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return
    throw error
  }
  if ((await readFile(aside, 'utf8')) === stale.text) await rm(aside, { force: true })
  else await rename(aside, pidFilePath(dataDir))
}

function pidFilePath(dataDir: string): string {
  return join(dataDir, 'postmaster.pid')
}

function integer(line: string | undefined): number | undefined {
  return line !== undefined && /^\d+$/.test(line.trim()) ? Number(line) : undefined
}
