import type { Announcer } from '../jobs/wake-up/announcer.ts'
import type { Database } from '../db/database.ts'
import type { FailureClass } from '../core/failures/failure.ts'
import type { StoredError } from '../core/failures/stored-error.ts'
import { BreakerRunner, sendOn } from '../limits/breakers/runner.ts'
import {
  errorTitle,
  failProbe,
  giveProbe,
  OutcomeTally,
  passProbe,
  probeLeaseMs,
  renewProbe,
  takeProbe,
} from '../limits/breakers/steps.ts'
import type { BreakerStep, Tripped } from '../limits/breakers/steps.ts'
import type { Ended, Outcome } from './attempt/outcome.ts'
import type { Pools } from './claim/pools.ts'
import { Probe } from './claim/probes.ts'
import type { Scout } from './claim/scout.ts'
import type { Handlers } from './handlers.ts'
import type { Tenure } from './lease/tenure.ts'
import type { Loop } from './loop.ts'
import { LoopPart, newLoop } from './part.ts'
import type { Events } from './report/events.ts'
import type { Logger } from './report/log.ts'
import type { Troubles } from './watch/troubles.ts'

export interface BreakersConfig {
  db: Database
  /** The id under which it counts and probes; constant, although the worker may get another one. */
  process: string
  handlers: Handlers
  pools: Pools
  /** Those that `pools` claim for. */
  probes: Map<string, Probe>
  scout: Pick<Scout, 'surveySoon'>
  tenure: Pick<Tenure, 'isOpen'>
  announcer: Pick<Announcer, 'rulesChanged'>
  events: Events
  log: Logger
  troubles: Pick<Troubles, 'of'>
}

const writeEveryMs = 1_000
/** So many failures are written sooner: each that ends before its breaker is open burns an attempt. */
const manyFailures = 10
const eagerMs = 200
/** After a probe that another process has won, or that could not be asked for. */
const restMs = 500

/**
 * The breakers of the kinds that this worker handles.
 *
 * closed     every attempt that ends is counted, and written once a second; the write that finds too many failures in the
 *            window opens the breaker, for all processes
 * open       claims leave its kinds out (pool-rules.ts); what still runs is not counted, and its failures burn no attempt
 * half-open  one process has won the right to probe: it claims a few jobs, under a lease of seconds that it renews while they
 *            run. All succeed: closed. One fails: open, for twice as long. The process dies: another takes over
 *
 * The row in the database is the state. A worker reads it with its rules, at most a second late, and at once when it is told;
 * what it does meanwhile is wrong for a second at most, and every step is guarded by the row itself.
 */
export class Breakers extends LoopPart {
  readonly #config: BreakersConfig
  readonly #loop: Loop
  readonly #tally: OutcomeTally
  readonly #takingAfter = new Map<string, number>()
  #mustPassAgain = false
  #writtenAt = 0
  /** For `ctx.breaker()`. */
  readonly runner: BreakerRunner

  constructor(config: BreakersConfig) {
    const loop = newLoop(config.troubles, {
      name: 'breakers',
      everyMs: writeEveryMs,
      pass: () => this.#pass(),
    })
    super([loop])
    this.#config = config
    this.#loop = loop
    this.#tally = new OutcomeTally(config.process)
    this.runner = new BreakerRunner({
      send: sendOn(config.db),
      onStep: (step) => {
        this.#stepped(step)
      },
    })
  }

  /** Writes the last outcomes, and lets other processes probe. Called after the last job has been settled. */
  override async stop(): Promise<void> {
    await super.stop()
    await this.#loop.runOnce()
    const { db, process, probes } = this.#config
    for (const name of probes.keys()) await giveProbe(db, { name, prober: process }).catch(() => undefined)
    await this.runner.close()
  }

  /** An attempt has ended: counts it for the breakers of its kind. Returns its outcome, perhaps without burning an attempt. */
  ended({ held, outcome }: Ended): Outcome {
    const { contract } = this.#config.handlers.get(held.job.kind)
    if (contract.breakers.length === 0) return outcome
    const { id, queue } = held.job
    const said = saidBy(outcome)
    const open = this.#config.pools.get(queue)?.rules.breakers ?? []
    let isSpared = false
    for (const name of contract.breakers) {
      const rule = open.find((one) => one.name === name)
      const probe = this.#config.probes.get(name)
      if (probe?.has(id) === true) isSpared = this.#judge(probe, id, said) || isSpared
      else if (rule !== undefined) isSpared = isCounted(said, rule.counts) || isSpared
      else if (said !== undefined && held.startedAt > 0) this.#tally.add(name, said === 'ok' ? null : said)
    }
    if (this.#tally.failures >= manyFailures && performance.now() - this.#writtenAt > eagerMs) {
      this.#writtenAt = performance.now()
      this.#passSoon()
    }
    return isSpared ? spared(outcome, held.job) : outcome
  }

  /** Asks for the probes that are due. */
  turn(now: number): void {
    const { pools, probes, handlers, tenure } = this.#config
    if (!tenure.isOpen) return
    for (const { rules, hasFreeSlot } of pools.all) {
      // A process that could not start a probe leaves it to others.
      if (!hasFreeSlot) continue
      for (const breaker of rules.breakers) {
        const { name, kinds, isForced } = breaker
        if (isForced || probes.has(name) || rules.isPaused(now) || now < rules.dueAt(breaker)) continue
        if (now < (this.#takingAfter.get(name) ?? 0)) continue
        if (kinds.some((kind) => handlers.kinds.includes(kind))) void this.#take(name)
      }
    }
  }

  /** When it has to act at the latest. */
  wakeAt(now: number): number {
    const { pools, probes } = this.#config
    let at = Infinity
    for (const { nextTryAt } of probes.values()) if (nextTryAt > now) at = Math.min(at, nextTryAt)
    for (const { rules } of pools.all) {
      for (const breaker of rules.breakers) {
        const dueAt = Math.max(rules.dueAt(breaker), this.#takingAfter.get(breaker.name) ?? 0)
        if (dueAt > now) at = Math.min(at, dueAt)
      }
    }
    return at
  }

  async #take(name: string): Promise<void> {
    const { db, process, probes, troubles, scout } = this.#config
    const sentAt = performance.now()
    this.#takingAfter.set(name, Infinity)
    try {
      const taken = await takeProbe(db, { name, prober: process })
      // Another process probes: the rules say since when and until when.
      if (taken === undefined) scout.surveySoon()
      else {
        probes.set(name, new Probe(name, { ...taken, endsAt: sentAt + probeLeaseMs }))
        if (taken.was === 'open') this.#stepped({ name, was: 'open', state: 'half-open', cause: null })
        else scout.surveySoon()
      }
    } catch (error) {
      troubles.of('breakers', error)
    } finally {
      this.#takingAfter.set(name, performance.now() + restMs * (0.5 + Math.random()))
    }
  }

  /** A probe has ended. Returns whether it failed in a way that counts. */
  #judge(probe: Probe, id: string, said: Said): boolean {
    const hasFailed = isCounted(said, probe.counts)
    if (hasFailed && typeof said === 'object') {
      const { error, fingerprint } = said
      probe.failed(id, { error, ...(fingerprint === null ? {} : { fingerprint }) })
    } else if (said === 'ok') probe.passed(id)
    else probe.replace(id)
    this.#passSoon()
    return hasFailed
  }

  #passSoon(): void {
    // A pass that is under way may have seen the probe before.
    if (this.#loop.since === undefined) void this.#loop.runOnce()
    else this.#mustPassAgain = true
  }

  async #pass(): Promise<void> {
    do {
      this.#mustPassAgain = false
      for (const probe of this.#config.probes.values()) await this.#write(probe)
    } while (this.#isPassWanted())
    this.#writtenAt = performance.now()
    for (const { rules } of this.#config.pools.all)
      for (const { name } of rules.breakers) this.#tally.drop(name)
    for (const tripped of await this.#tally.write(this.#config.db)) this.#tripped(tripped)
  }

  /** A method, so that it is read again after `await`. */
  #isPassWanted(): boolean {
    return this.#mustPassAgain
  }

  /** Says how the probes of a breaker ended, and keeps the right to probe while they run. */
  async #write(probe: Probe): Promise<void> {
    const { db, process } = this.#config
    const { name, succeeded } = probe
    const probing = { name, prober: process }
    if (probe.failure !== undefined) {
      this.#over(probe, await failProbe(db, { ...probing, cause: probe.failure }))
      return
    }
    if (succeeded > 0) {
      const step = await passProbe(db, { ...probing, succeeded })
      probe.succeeded -= succeeded
      if (step?.state !== 'half-open') {
        this.#over(probe, step)
        return
      }
    }
    const sentAt = performance.now()
    if (probe.isRunning && probe.endsAt - sentAt < (probeLeaseMs * 2) / 3) {
      const answer = await renewProbe(db, probing)
      if (answer === 'kept') probe.endsAt = sentAt + probeLeaseMs
      else if (answer === 'lost') this.#over(probe, undefined)
      else this.#over(probe, await failProbe(db, { ...probing, cause: { error: 'Its probes did not end' } }))
    } else if (!probe.isRunning && sentAt >= probe.endsAt) this.#over(probe, undefined)
  }

  /** This process probes no longer. */
  #over(probe: Probe, step: BreakerStep | undefined): void {
    this.#config.probes.delete(probe.name)
    if (step === undefined) this.#config.scout.surveySoon()
    else this.#stepped(step)
  }

  /** Holds the jobs back at once: the rules say so only after the next survey. */
  #tripped({ step, counts, probeInMs }: Tripped): void {
    const { name } = step
    const { handlers, pools } = this.#config
    for (const pool of pools.all) {
      const kinds = handlers.contracts.flatMap(({ queue, kind, breakers }) =>
        queue === pool.config.name && breakers.includes(name) ? [kind] : [],
      )
      const open = { name, kinds, state: 'open', counts, probeBy: null, isForced: false, probeInMs } as const
      if (kinds.length > 0) pool.rules.tripped(open, performance.now())
    }
    this.#stepped(step)
  }

  #stepped(step: BreakerStep): void {
    const { announcer, scout, events, log } = this.#config
    // What ended before this step must not count after it.
    this.#tally.drop(step.name)
    announcer.rulesChanged()
    scout.surveySoon()
    events.emit('breaker', step)
    const { name, was, state, cause } = step
    log[state === 'open' ? 'warn' : 'info']({ breaker: name, was, ...cause }, `a breaker is ${state}`)
  }
}

/** What an attempt says about the downstream; undefined: nothing. */
type Said = 'ok' | { class: FailureClass; error: string; fingerprint: string | null } | undefined

function saidBy(outcome: Outcome): Said {
  switch (outcome.type) {
    case 'succeeded':
    case 'completed':
      return 'ok'
    case 'handed-over':
      return saidBy(outcome.otherwise)
    case 'retry':
      return failure(outcome.error)
    case 'dead':
      return outcome.reason === 'expired' || outcome.reason === 'invalid-row'
        ? undefined
        : failure(outcome.error)
    case 'crashed':
      return { class: 'crash', error: errorTitle('Crash', outcome.reason), fingerprint: null }
    case 'cancelled':
    case 'snoozed':
    case 'waiting':
    case 'released':
      return undefined
  }
}

function failure({ class: failureClass, name, message, fingerprint }: StoredError): Said {
  return { class: failureClass, error: errorTitle(name, message), fingerprint }
}

function isCounted(said: Said, counts: readonly unknown[]): boolean {
  return typeof said === 'object' && counts.includes(said.class)
}

/** How long a job waits whose attempts were used up, and which has another because its breaker is open. */
const sparedMs = 1_000

/** The failure burns no attempt. A job of one attempt must not run again by itself: it keeps its outcome. */
function spared(
  outcome: Outcome,
  { maxAttempts, more }: { maxAttempts: number; more: { attemptsBefore?: number | null } | null },
): Outcome {
  if (outcome.type === 'retry') return { ...outcome, burnsAttempt: false, isSpared: true }
  if (outcome.type !== 'dead' || outcome.reason !== 'exhausted') return outcome
  if (maxAttempts - (more?.attemptsBefore ?? 0) <= 1) return outcome
  const { error, timedOut } = outcome
  return { type: 'retry', delayMs: sparedMs, burnsAttempt: false, isSpared: true, error, timedOut }
}
