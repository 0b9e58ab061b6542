import { setTimeout as pause } from 'node:timers/promises'
import { span } from '../../core/span.ts'
import { messageOf } from '../../core/failures/thrown.ts'
import type { Database } from '../../db/database.ts'
import { run } from '../../db/statement.ts'
import { atMost, waitAfterMs } from '../../db/wait.ts'
import { Leader } from './leader.ts'
import type { LeaderConfig } from './leader.ts'
import { Loop } from '../loop.ts'
import { noteServiceSql } from './note-service.sql.ts'
import type { Service } from './service.ts'
import { serviceAgesSql } from './service-ages.sql.ts'
import { upkeepName } from '../../stats/read/fleet/upkeep.ts'

export interface UpkeepConfig extends Omit<LeaderConfig, 'name'> {
  /** A pool of its own, so that upkeep and settles never wait for each other's connections. Closed by stop(). */
  db: Database
  services: readonly Service[]
  onTrouble: (what: string, error: unknown) => void
  /** A pass that takes longer than this hangs; longer than any service takes. @default five minutes */
  hungAfterMs?: number | undefined
}

/** How long one pass may take if its service does not say. */
const usualPassMs = 60_000
const usualHungAfterMs = 300_000
/** Hanging passes of a service, at most: with this many, no other pass is begun, because that would not help. */
const mostHung = 3
const stopMs = 3_000
/** How long a stop keeps the lead for passes that do not end. */
const passEndMs = 2_000
/** If a service runs more often than this, not every pass is noted. */
const noteEveryMs = 60_000

/**
 * Runs services while this process leads.
 *
 * One loop asks for the lead, three times a term. While the lead is ours, each service has a loop of its own: a service
 * that fails is tried again after a while, longer each time, and does not affect the others. A pass that hangs is a
 * failure too: it is abandoned, and the next one begins beside it, which services allow (see Service). The database says
 * when each service is due, so a change of leaders neither skips a pass nor repeats them all.
 */
export class Upkeep {
  readonly #config: UpkeepConfig
  readonly #leader: Leader
  readonly #asking: Loop
  #loops: Loop[] = []
  /** How many passes of a service got no answer, and may still run. */
  readonly #hung = new Map<string, number>()
  /** When a successful pass was last noted; cleared by a failed pass. */
  readonly #notedAt = new Map<string, number>()
  #isStopping = false

  constructor(config: UpkeepConfig) {
    this.#config = config
    const { termMs, holder, about } = config
    this.#leader = new Leader({ name: upkeepName, termMs, holder, about })
    this.#asking = new Loop({
      name: 'lead',
      everyMs: termMs / 3,
      pass: () => this.#ask(),
      onTrouble: (name, error) => {
        config.onTrouble(name, error)
        if (!this.#leader.isLeading) this.#step()
      },
    })
  }

  get isLeading(): boolean {
    return this.#leader.isLeading
  }

  start(): void {
    this.#asking.start()
  }

  /** Asks for the lead now; says whether it is ours. */
  async lead(): Promise<boolean> {
    await this.#asking.runOnce()
    return this.isLeading
  }

  /** Asks for the lead, and runs all services once if it is ours: for tests, and for a caller that cannot wait. */
  async runOnce(): Promise<boolean> {
    if (!(await this.lead())) return false
    await Promise.all(this.#loops.map((loop) => loop.runOnce()))
    return true
  }

  /** Ends the passes that are under way and releases the lead. Does not wait long for a database that is gone. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const { db, onTrouble } = this.#config
    const loops = [this.#asking, ...this.#loops]
    const stopped = Promise.all(loops.map((loop) => loop.stop()))
    const ended = atMost(passEndMs, stopped)
      .then(() => this.#leader.resign(db))
      .catch((error: unknown) => {
        onTrouble('resign', error)
      })
    await atMost(stopMs, ended)
    const closed = db.close()
    db.abandon()
    await atMost(stopMs, closed)
  }

  async #ask(): Promise<void> {
    const isLeading = await this.#leader.ask(this.#config.db)
    if (isLeading && this.#loops.length === 0) await this.#begin()
    if (!isLeading) this.#step()
  }

  async #begin(): Promise<void> {
    const { db, services } = this.#config
    const ages = new Map(
      await run(
        db,
        serviceAgesSql,
        {},
        (row: { name: string; ageMs: number }) => [row.name, row.ageMs] as const,
      ),
    )
    if (this.#isStopping || this.#loops.length > 0) return
    this.#loops = services.map((service) => {
      const ageMs = ages.get(service.name) ?? Infinity
      return this.#loopOf(service, Math.min(service.everyMs, Math.max(0, service.everyMs - ageMs)))
    })
    for (const loop of this.#loops) loop.start()
  }

  /** Another process leads now: no pass of ours begins any more. */
  #step(): void {
    const loops = this.#loops
    this.#loops = []
    for (const loop of loops) void loop.stop()
  }

  #loopOf(service: Service, firstMs: number): Loop {
    const { name, everyMs } = service
    const loop: Loop = new Loop({
      name,
      everyMs,
      firstMs,
      retryMs: (failures) => Math.min(everyMs, 1_000 + waitAfterMs(failures + 2)),
      pass: () => this.#pass(service, loop.stopped),
      onTrouble: this.#config.onTrouble,
    })
    return loop
  }

  async #pass(service: Service, stopped: AbortSignal): Promise<void> {
    const { db, onTrouble } = this.#config
    if (!this.#leader.isLeading) return
    const { name, passMs = usualPassMs } = service
    const startedAt = performance.now()
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(passMs)])
    const context = {
      signal,
      onPassedBy: (what: string, error: unknown) => {
        onTrouble(`${name}: ${what}`, error)
      },
    }
    try {
      const hung = this.#hung.get(name) ?? 0
      if (hung >= mostHung)
        throw new Error(
          `${hung} passes of '${name}' have come to no answer: until one ends, no other is begun`,
        )
      await this.#inTime(name, service.runOnce(db, context))
      const now = performance.now()
      if (service.everyMs < noteEveryMs && now - (this.#notedAt.get(name) ?? -Infinity) < noteEveryMs) return
      const tookMs = Math.round(now - startedAt)
      await run(db, noteServiceSql, { name, tookMs, error: null }, () => undefined)
      this.#notedAt.set(name, now)
    } catch (error) {
      this.#notedAt.delete(name)
      // The note is best effort: the error of the pass is the one to report.
      await run(db, noteServiceSql, { name, tookMs: 0, error: storable(error) }, () => undefined).catch(
        () => undefined,
      )
      throw error
    }
  }

  /** Waits for a pass, and abandons it once it has taken too long. */
  async #inTime(name: string, passing: Promise<void>): Promise<void> {
    const { hungAfterMs = usualHungAfterMs } = this.#config
    const giveUp = new AbortController()
    const hung = pause(hungAfterMs, true, { ref: false, signal: giveUp.signal }).catch(() => false)
    const isHung = await Promise.race([passing.then(() => false), hung]).finally(() => {
      giveUp.abort()
    })
    if (!isHung) return
    const count = (by: number): void => {
      this.#hung.set(name, (this.#hung.get(name) ?? 0) + by)
    }
    count(1)
    const isBack = (): void => {
      count(-1)
    }
    passing.then(isBack, isBack)
    throw new Error(`'${name}' has come to no answer for ${span(hungAfterMs)}`)
  }
}

/** The error as a text column can hold it. */
function storable(error: unknown): string {
  return messageOf(error).replaceAll('\0', '').slice(0, 1_000)
}
