import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { Supervisor } from '../../worker/processes/supervisor.ts'
import { defaultLogger } from '../../worker/report/log.ts'
import { UsageError } from '../arguments.ts'

const mostProcesses = 256

/** Runs `stint work FILE` in several processes, and keeps them running. Resolves with the exit code. */
export async function supervise(
  file: string,
  options: { processes: string; health: string | undefined },
): Promise<number> {
  const processes = processCount(options.processes)
  const health = healthAddress(options.health)
  if (!existsSync(file)) throw new UsageError(`File not found: ${file}.`)
  // The path as this process was called, with symbolic links unresolved: a link to the current release may point to a newer
  // one by now.
  const main = process.argv[1] ?? ''
  const args = [...process.execArgv, main, 'work', file]
  return new Supervisor({ processes, health, args, log: defaultLogger(process.env) }).run()
}

function processCount(text: string): number {
  if (text === 'auto') return Math.min(availableParallelism(), mostProcesses)
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (count >= 1 && count <= mostProcesses) return count
  throw new UsageError(
    `Expected --processes to be a whole number from 1 to ${mostProcesses} or auto, got '${text}'.`,
  )
}

function healthAddress(text: string | undefined): { host: string; port: number } | undefined {
  if (text === undefined) return undefined
  const [, host = '127.0.0.1', port = ''] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? []
  if (port !== '' && Number(port) <= 65_535) return { host, port: Number(port) }
  throw new UsageError(`Expected --health to be a port or HOST:PORT, got '${text}'.`)
}
