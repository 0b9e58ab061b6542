import type { Stint } from '../../client/stint.ts'
import type { BreakerInfo } from '../../limits/breakers/breaker.ts'
import type { Finding } from '../api/system.ts'
import type { OverviewFacts } from './overview.ts'

/** A read whose answer all callers share for a short time: it runs once, for any number of callers. */
export class Shared<Answer> {
  readonly #ask: () => Promise<Answer>
  readonly #freshMs: number
  #last: Answer | undefined
  #asked: { answer: Promise<Answer>; at: number; isPending: boolean } | undefined

  constructor(ask: () => Promise<Answer>, freshMs: number) {
    this.#ask = ask
    this.#freshMs = freshMs
  }

  /** The answer if it comes within `ms`, else the last answer of any age; undefined if there is none yet. */
  async soon(ms: number): Promise<Answer | undefined> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, ms, undefined)
    })
    try {
      return (await Promise.race([this.get(), late])) ?? this.#last
    } finally {
      clearTimeout(timer)
    }
  }

  /** The last answer, without waiting; if it is old, this starts a new read. */
  latest(): Answer | undefined {
    this.get().catch(() => undefined)
    return this.#last
  }

  get(): Promise<Answer> {
    const asked = this.#asked
    if (asked !== undefined && (asked.isPending || performance.now() - asked.at < this.#freshMs))
      return asked.answer
    const begun = { answer: this.#ask(), at: Infinity, isPending: true }
    this.#asked = begun
    begun.answer.then(
      (answer) => {
        this.#last = answer
        begun.isPending = false
        begun.at = performance.now()
      },
      () => {
        // A failure rejects for the callers of this read and is not kept.
        if (this.#asked === begun) this.#asked = undefined
      },
    )
    return begun.answer
  }
}

type View = Stint['view']

/** The findings of the doctor, and their time. */
export interface Examined {
  findings: readonly Finding[]
  asOf: Date
}

/**
 * The reads that all screens and streams of a console share: each runs once for all of them, as often as its data can
 * change. Gauges are refreshed every two seconds, so a more frequent read would return the same.
 */
export class SharedReads {
  readonly queues: Shared<Awaited<ReturnType<View['queues']>>>
  readonly trouble: Shared<Awaited<ReturnType<View['trouble']>>>
  readonly workers: Shared<Awaited<ReturnType<View['workers']>>>
  readonly leases: Shared<Awaited<ReturnType<View['leases']>>>
  readonly totals: Shared<Awaited<ReturnType<View['totals']>>>
  readonly pressures: Shared<Awaited<ReturnType<View['pressures']>>>
  readonly rateTotals: Shared<Awaited<ReturnType<View['rateTotals']>>>
  readonly limits: Shared<Awaited<ReturnType<Stint['limits']['list']>>>
  readonly breakers: Shared<BreakerInfo[]>
  readonly findings: Shared<Examined>

  constructor(stint: Pick<Stint, 'view' | 'doctor' | 'limits' | 'breakers'>) {
    const { view } = stint
    this.queues = new Shared(() => view.queues(), 900)
    this.trouble = new Shared(() => view.trouble(), 4_000)
    this.workers = new Shared(() => view.workers(), 900)
    this.leases = new Shared(() => view.leases(), 900)
    this.totals = new Shared(() => view.totals(), 900)
    this.pressures = new Shared(() => view.pressures(), 900)
    this.rateTotals = new Shared(() => view.rateTotals(), 900)
    this.limits = new Shared(() => stint.limits.list({ limit: 1_000 }), 900)
    this.breakers = new Shared(() => stint.breakers.list({ limit: 1_000 }), 900)
    this.findings = new Shared(() => findingsOf(stint), 10_000)
  }

  /**
   * The facts of the overview. The doctor is slow, so its last findings are used. It starts after the other reads have
   * ended: it would take the connections that they need.
   */
  async overview(): Promise<OverviewFacts> {
    const [queues, trouble] = await Promise.all([this.queues.get(), this.trouble.get()])
    return { queues, trouble, findings: this.findings.latest()?.findings ?? [] }
  }
}

async function findingsOf(stint: Pick<Stint, 'doctor'>): Promise<Examined> {
  const { findings, asOf } = await stint.doctor()
  return { findings: findings.map(({ fix = null, ...finding }) => ({ ...finding, fix })), asOf }
}
