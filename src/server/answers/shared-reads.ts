import type { Stint } from '../../client/stint.ts'
import type { Finding } from '../api/system.ts'
import type { OverviewFacts } from './overview.ts'

/** An answer that all who ask within a moment share: asked for once, however many ask. */
export class Shared<Answer> {
  readonly #ask: () => Promise<Answer>
  readonly #freshMs: number
  #last: Answer | undefined
  #asked: { answer: Promise<Answer>; at: number; isPending: boolean } | undefined

  constructor(ask: () => Promise<Answer>, freshMs: number) {
    this.#ask = ask
    this.#freshMs = freshMs
  }

  /** The answer where it comes within `ms`, else the last one, however old that is; undefined where there is none yet. */
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

  /** The last answer, without waiting for one; a newer one is asked for where it is old. */
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
        // A failure is told to those who asked for it, and not kept.
        if (this.#asked === begun) this.#asked = undefined
      },
    )
    return begun.answer
  }
}

type View = Stint['view']

/** What the doctor found, and when. */
export interface Examined {
  findings: readonly Finding[]
  asOf: Date
}

/**
 * What all screens and streams of a console look at: read once for all of them, as often as it can change. Gauges are
 * refreshed every two seconds, so whoever asks twice within one of them gets the same.
 */
export class SharedReads {
  readonly queues: Shared<Awaited<ReturnType<View['queues']>>>
  readonly trouble: Shared<Awaited<ReturnType<View['trouble']>>>
  readonly workers: Shared<Awaited<ReturnType<View['workers']>>>
  readonly leases: Shared<Awaited<ReturnType<View['leases']>>>
  readonly totals: Shared<Awaited<ReturnType<View['totals']>>>
  readonly findings: Shared<Examined>

  constructor(stint: Pick<Stint, 'view' | 'doctor'>) {
    const { view } = stint
    this.queues = new Shared(() => view.queues(), 900)
    this.trouble = new Shared(() => view.trouble(), 4_000)
    this.workers = new Shared(() => view.workers(), 900)
    this.leases = new Shared(() => view.leases(), 900)
    this.totals = new Shared(() => view.totals(), 900)
    this.findings = new Shared(() => findingsOf(stint), 10_000)
  }

  /**
   * What the overview is made of. What the doctor finds takes its time, so it is what was found last; and it is asked when
   * the rest is there, for it would take the connections that the rest waits for.
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
