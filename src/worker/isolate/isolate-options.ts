import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { integerOption, invalidOption, oneOfOption, rejectUnknown } from '../../core/options.ts'
import { toldEntry } from '../../node/entry.ts'

export type IsolateMode = 'process' | 'thread'

/** Where a handler runs, if not in the worker's own process. */
export interface IsolateOptions {
  in: IsolateMode
  /** Megabytes of heap that a child of this kind may use; 16 to 1,048,576. @default the worker's `children.memoryMb` */
  memoryMb?: number | undefined
  /** Jobs after which a child is replaced; 1 to 1,000,000. @default the worker's `children.maxJobs` */
  maxJobs?: number | undefined
}

export interface HandleOptions {
  /**
   * Runs the handler in a child process or a thread, which can be ended from outside. @default in the worker's process
   */
  isolate?: IsolateMode | IsolateOptions | undefined
}

export interface ChildrenOptions {
  /**
   * The file that makes the worker: children load it to find the handlers. Path or URL, `import.meta.url` perhaps.
   * @default under `stint work`, the file it runs
   */
  entry?: string | URL | undefined
  /** Child processes at once, and as many threads; 1 to 1,000. @default the worker's concurrency, at most 10 */
  max?: number | undefined
  /** Megabytes of heap that one child may use; 16 to 1,048,576. @default 512 */
  memoryMb?: number | undefined
  /** Jobs after which a child is replaced by a new one; 1 to 1,000,000. @default 1000 */
  maxJobs?: number | undefined
}

export interface IsolateConfig {
  readonly mode: IsolateMode
  readonly memoryMb: number | undefined
  readonly maxJobs: number | undefined
}

export interface ChildrenConfig {
  /** A path; undefined if it is not set. */
  readonly entry: string | undefined
  readonly max: number
  readonly memoryMb: number
  readonly maxJobs: number
}

const memoryRange = { min: 16, max: 1_048_576 }
const jobsRange = { min: 1, max: 1_000_000 }

export function resolveIsolate(isolate: HandleOptions['isolate']): IsolateConfig | undefined {
  if (isolate === undefined) return undefined
  const isWord = typeof isolate === 'string'
  if (!isWord && !isObject(isolate))
    throw invalidOption('isolate', "'process', 'thread' or an object such as { in: 'process' }", isolate)
  const { in: mode, memoryMb, maxJobs, ...rest } = isWord ? { in: isolate } : isolate
  rejectUnknown('isolate', rest, ['in', 'memoryMb', 'maxJobs'], 'isolate.')
  return Object.freeze({
    mode: oneOfOption(isWord ? 'isolate' : 'isolate.in', mode, ['process', 'thread']),
    memoryMb: memoryMb === undefined ? undefined : integerOption('isolate.memoryMb', memoryMb, memoryRange),
    maxJobs: maxJobs === undefined ? undefined : integerOption('isolate.maxJobs', maxJobs, jobsRange),
  })
}

export function resolveChildren(children: ChildrenOptions, slots: number): ChildrenConfig {
  if (!isObject(children)) throw invalidOption('children', 'an object such as { max: 4 }', children)
  const { entry, max = Math.min(slots, 10), memoryMb = 512, maxJobs = 1_000, ...rest } = children
  rejectUnknown('children', rest, ['entry', 'max', 'memoryMb', 'maxJobs'], 'children.')
  return Object.freeze({
    entry: entry === undefined ? toldEntry() : entryOption(entry),
    max: integerOption('children.max', max, { min: 1, max: 1_000 }),
    memoryMb: integerOption('children.memoryMb', memoryMb, memoryRange),
    maxJobs: integerOption('children.maxJobs', maxJobs, jobsRange),
  })
}

function entryOption(entry: unknown): string {
  const href = entry instanceof URL ? entry.href : entry
  if (typeof href === 'string' && href !== '') {
    if (!/^file:/i.test(href)) return resolve(href)
    // A loader may have appended a query to it.
    const { protocol, host, pathname } = new URL(href)
    return fileURLToPath(`${protocol}//${host}${pathname}`)
  }
  throw invalidOption('children.entry', 'the path or file: URL of the file that makes the worker', entry)
}

/** For callers without types. */
function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
