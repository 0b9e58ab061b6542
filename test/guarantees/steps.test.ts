import { setTimeout as pause } from 'node:timers/promises'
import { monotonicMs } from '../support/ledger.ts'
import { endLease } from '../support/worker-process.ts'
import type { WorkerProcess } from '../support/worker-process.ts'
import { untilQuiet } from './harness/audit.ts'
import { experiment } from './harness/experiment.ts'
import { Fleet } from './harness/fleet.ts'
import { pick } from './harness/random.ts'
import { createScene } from './harness/scene.ts'
import type { Scene } from './harness/scene.ts'
import { auditSteps } from './harness/step-audit.ts'

const everyMs = 250
const workers = 4
/** The steps of the act `steps`, in the order in which they end. */
const steps = [
  ...['first', 'book', 'send 1', 'send 2', 'send 3', 'left', 'right 0', 'right 1', 'broken', 'after broken'],
  ...['between', 'last'],
]

experiment(
  {
    name: 'steps',
    title:
      'jobs with steps, waits and signals repeat no finished step, and lose nothing, when their workers are killed',
    method:
      'Four workers run jobs with twelve steps each: plain and parallel ones, one in a transaction, a list in batches, one that fails and is caught; between them a sleep and three waits for signals. Each of two signals is sent twice with one key: early, when the job asks, or later. Every 250 ms one of the workers that have started is killed by SIGKILL and replaced. Some jobs kill their own process right after one of their steps. A ledger outside the database has each run of a step, and when its call returned.',
    short: { jobs: 30, kills: 4 },
    medium: { jobs: 2_000, kills: 300 },
    long: { jobs: 20_000, kills: 3_000 },
    timeoutMs: 480_000,
  },
  async ({ size, random }) => {
    const scene = await createScene()
    const { db, ledger, stint, contract, setup } = scene
    const options = { lease: '3s', sweepEvery: '200ms', queues: { work: 10 }, pollFloor: '200ms' } as const
    const fleet = new Fleet({
      ledger,
      setup: (name) => setup(name, options, { isTerse: true }),
      isRestarted: true,
    })
    await Promise.all(Array.from({ length: workers }, () => fleet.start()))
    const ids: string[] = []
    const signals = new Signals(scene)
    let kills = 0
    const endings: Promise<void>[] = []
    let seen = 0
    while (kills < size.kills || ids.length < size.jobs) {
      await pause(everyMs)
      const share = Math.min(1, (kills + 1) / size.kills)
      const missing = Math.max(0, Math.ceil(size.jobs * share) - ids.length)
      const inputs = Array.from({ length: missing }, (_, n) => {
        const diesItself = (ids.length + n) % 12 === 5
        return {
          act: 'steps',
          ms: Math.floor(random() * 20),
          ...(diesItself && { dieAfter: pick(random, steps) }),
        }
      })
      if (inputs.length > 0) {
        const { jobs } = await stint.enqueueMany(contract, inputs)
        for (const { id } of jobs) await signals.expect(id, ids.push(id))
      }
      await signals.sendAsked()
      for (; seen < fleet.exits.length; seen++) endLeaseOf(fleet.exits[seen]?.worker)
      const ready = fleet.ready()
      // Leave at least two workers, or no job is done at all.
      if (ready.length > 2) kill(pick(random, ready))
    }
    function kill(victim: WorkerProcess | undefined): void {
      if (victim === undefined) return
      fleet.end(victim, 'SIGKILL')
      fleet.spawn()
      endLeaseOf(victim)
      kills++
    }
    function endLeaseOf(victim: WorkerProcess | undefined): void {
      if (victim !== undefined) endings.push(endLease(db, victim))
    }
    const quiet = new AbortController()
    const ended = untilQuiet(db).finally(() => {
      quiet.abort()
    })
    while (!quiet.signal.aborted) await Promise.all([signals.sendAsked(), pause(50)])
    await Promise.all([ended, ...endings])
    fleet.close()
    const { verdicts, facts } = await auditSteps(db, ledger, { ids, steps })
    return {
      counts: {
        jobs: ids.length,
        stepsRun: facts.stepsRun,
        kills: ledger.lines({ type: 'kill' }).length,
        signals: signals.sent,
        attempts: facts.attempts,
        recovered: facts.recovered,
      },
      verdicts: { ...verdicts, keysNotKept: signals.keysNotKept },
    }
  },
)

/** Sends two signals to each job: a third of the jobs get them early, a third when they ask, a third later. */
class Signals {
  readonly #scene: Scene
  readonly #when = new Map<string, 'asked' | 'later'>()
  readonly #later: { id: string; at: number }[] = []
  #read = 0
  sent = 0
  /** Signals of which not exactly one of two calls with one key was stored. */
  keysNotKept = 0

  constructor(scene: Scene) {
    this.#scene = scene
  }

  async expect(id: string, n: number): Promise<void> {
    if (n % 3 === 0) await this.#send(id)
    else this.#when.set(id, n % 3 === 1 ? 'asked' : 'later')
  }

  async sendAsked(): Promise<void> {
    const lines = this.#scene.ledger.lines({ type: 'asks' })
    for (const { job = '' } of lines.slice(this.#read)) {
      const when = this.#when.get(job)
      this.#when.delete(job)
      if (when === 'later') this.#later.push({ id: job, at: monotonicMs() + 300 })
      if (when === 'asked') await this.#send(job)
    }
    this.#read = lines.length
    while (this.#later[0] !== undefined && this.#later[0].at < monotonicMs())
      await this.#send(this.#later.shift()?.id ?? '')
  }

  async #send(id: string): Promise<void> {
    for (const part of [1, 2]) {
      const twice = [1, 2].map(() => this.#scene.stint.signal(id, 'go', { part }, { key: `part ${part}` }))
      const answers = await Promise.all(twice)
      this.sent++
      if (answers.filter(({ duplicate }) => !duplicate).length !== 1) this.keysNotKept++
    }
  }
}
