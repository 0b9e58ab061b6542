import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { StintError } from '../../core/errors.ts'
import { tellEntry } from '../../node/entry.ts'
import { loadFile } from '../../node/load-file.ts'
import { UsageError } from '../arguments.ts'

/** The methods of a worker that the command line uses. */
export interface RunnableWorker {
  /** Starts, drains at the first signal, gives up its jobs at the second; resolves when it has stopped. */
  run(): Promise<void>
  stop(): Promise<void>
}

const brand = Symbol.for('stint.worker')

const example = `  import { Worker } from 'stint/worker'
  import { sendMail } from '../contracts.ts'

  export const worker = new Worker({ queues: { mail: 10 } })
  worker.handle(sendMail, async (input, ctx) => {
    await deliver(input.to, { signal: ctx.signal })
  })`

/** Loads a worker file and returns its exports. */
export async function loadWorkerFile(file: string): Promise<object> {
  const path = resolve(file)
  if (!existsSync(path)) throw new UsageError(`File not found: ${path}.`)
  // Before its workers are created: a worker that runs handlers in child processes passes them this path.
  tellEntry(path)
  return loadFile(path)
}

/** The workers among the exports of a file, each once. The default export of a CommonJS file contains its exports too. */
export function workersOf(file: string, exported: object): RunnableWorker[] {
  const { default: byDefault } = exported as { default?: unknown }
  const inDefault = typeof byDefault === 'object' && byDefault !== null ? Object.values(byDefault) : []
  const found = new Set(
    [...(Object.values(exported) as unknown[]), ...(inDefault as unknown[])].filter(isWorker),
  )
  if (found.size > 0) return [...found]
  throw new StintError('invalid-option', `${file} exports no worker. Export one:\n\n${example}\n`, {
    issues: [{ path: 'file', message: 'exports no worker' }],
  })
}

/** By its brand: `instanceof` fails if the file uses its own copy of the package. */
function isWorker(value: unknown): value is RunnableWorker {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[brand] === true
}
