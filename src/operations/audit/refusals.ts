import { atMost } from '../../db/wait.ts'
import type { NewAuditEntry } from './audit.ts'

const windowMs = 60_000
/** How long close() waits for the last notes. */
const lastMs = 1_000

interface Window {
  timer: NodeJS.Timeout
  repeats: number
  /** The last of the repeats. */
  last: NewAuditEntry | undefined
}

/**
 * Notes what callers of the console are refused, without letting them fill the audit: a person's first attempt at an
 * action (`job.cancel`, for any job) is noted at once, further ones within a minute are counted and noted as one. If the
 * process ends in between, that count is lost. Refusals of commands and code are noted each time: they have access to
 * the database anyway.
 */
export class Refusals {
  readonly #write: (entry: NewAuditEntry) => Promise<void>
  readonly #most: number
  readonly #windows = new Map<string, Window>()

  /** `most` are remembered at once. */
  constructor(write: (entry: NewAuditEntry) => Promise<void>, most = 1_000) {
    this.#write = write
    this.#most = most
  }

  async note(entry: NewAuditEntry): Promise<void> {
    const { actor, action, origin } = entry
    if (origin !== 'api' && origin !== 'dashboard') return this.#write(entry)
    const name = JSON.stringify([actor, action])
    const window = this.#windows.get(name)
    if (window !== undefined) {
      window.repeats++
      window.last = entry
      return
    }
    const [oldest] = this.#windows.size >= this.#most ? this.#windows.keys() : []
    if (oldest !== undefined) await this.#end(oldest)
    const timer = setTimeout(() => void this.#end(name), windowMs).unref()
    this.#windows.set(name, { timer, repeats: 0, last: undefined })
    try {
      await this.#write(entry)
    } catch (error) {
      this.#forget(name)
      throw error
    }
  }

  async close(): Promise<void> {
    await atMost(lastMs, Promise.all([...this.#windows.keys()].map((name) => this.#end(name))))
  }

  /** Notes what was counted, as well as it can. */
  async #end(name: string): Promise<void> {
    const { last, repeats } = this.#forget(name) ?? {}
    if (last === undefined) return
    const after = typeof last.after === 'object' ? last.after : {}
    await this.#write({ ...last, after: { ...after, repeats } }).catch(() => undefined)
  }

  #forget(name: string): Window | undefined {
    const window = this.#windows.get(name)
    clearTimeout(window?.timer)
    this.#windows.delete(name)
    return window
  }
}
