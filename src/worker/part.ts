import { Loop } from './loop.ts'
import type { Troubles } from './watch/troubles.ts'

/** Work in turns, each of which has to end. */
export interface Watched {
  readonly name: string
  /** Since when the current turn runs; undefined between turns. */
  readonly since: () => number | undefined
}

/** What all long-lived parts of a worker have in common. */
export interface Part {
  start?(): void | Promise<void>
  stop?(): void | Promise<void>
  /** Why it cannot do its work now; empty if it can. A failure counts once it has lasted for `patienceMs`. */
  health?(patienceMs: number): string[]
  /** The turns that must come to an end, for the watchdog. */
  readonly turns?: readonly Watched[]
}

/** A part that consists of loops. */
export class LoopPart implements Part {
  readonly #loops: readonly Loop[]

  constructor(loops: readonly Loop[]) {
    this.#loops = loops
  }

  start(): void {
    for (const loop of this.#loops) loop.start()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()))
  }

  health(patienceMs: number): string[] {
    return this.#loops
      .filter(({ ageMs }) => ageMs > patienceMs)
      .map(({ name, ageMs }) => `'${name}' has not succeeded for ${Math.round(ageMs / 1_000)} s`)
  }

  get turns(): Watched[] {
    return this.#loops.map((loop) => ({ name: loop.name, since: () => loop.since }))
  }
}

export interface NewLoop {
  name: string
  everyMs: number
  /** Whether the first pass runs at the start. */
  isEager?: boolean
  pass: () => Promise<void>
}

/** A loop whose failures are reported as trouble of the worker. */
export function newLoop(troubles: Pick<Troubles, 'of'>, config: NewLoop): Loop {
  const loop: Loop = new Loop({
    ...config,
    onTrouble: (name, error) => {
      troubles.of(name, error, { sinceOkMs: loop.ageMs })
    },
  })
  return loop
}
