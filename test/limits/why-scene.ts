import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { EnqueueOptions, JobContract, Why } from '../../src/index.ts'
import { createConsole } from '../../src/server.ts'
import type { Console } from '../../src/server.ts'
import { call, tokens } from '../console/scene.ts'
import type { Answer } from '../console/scene.ts'
import { runStint } from '../support/cli.ts'
import { movableClock } from '../support/clock.ts'
import { newName, workerScene } from '../support/workers.ts'
import type { Scene } from '../support/workers.ts'

/** When the clock of these tests stands still, so that a sentence that names a span is the same in each answer. */
const now = new Date()

/** A database whose clock stands still, and rows as workers, people and claims write them. */
export class WhyScene {
  readonly #scene: Scene = workerScene()
  #console: Console | undefined

  constructor() {
    beforeAll(async () => {
      await (await movableClock(this.#scene.db)).stopAt(now.toISOString())
      this.#console = createConsole({ connection: this.url, tokens: [tokens.viewer.line] })
    })
    afterAll(() => this.#console?.close())
  }

  get db(): Scene['db'] {
    return this.#scene.db
  }

  get stint(): Scene['stint'] {
    return this.#scene.stint
  }

  query(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    return this.#scene.db.query(sql, values)
  }

  get url(): string {
    return this.#scene.db.url
  }

  /** A contract of a queue of its own. */
  contract(kind = newName('work'), version = 1): JobContract {
    return defineJob({ kind, queue: newName(), version })
  }

  async enqueue(contract: JobContract, options: EnqueueOptions<never> = {}): Promise<string> {
    return (await this.stint.enqueue(contract, {}, options)).id
  }

  /** A live worker of the contract's queue, which knows this version of its kind. */
  async worker(
    { queue, kind, version }: JobContract,
    {
      slots = 10,
      knows = version,
      about = {},
    }: { slots?: number; knows?: number | undefined; about?: object } = {},
  ): Promise<string> {
    const id = randomUUID()
    const facts = { queues: { [queue]: slots }, kinds: [kind], versions: { [kind]: knows }, ...about }
    await this.query(
      `insert into stint.worker (id, lease_until, about) values ($1, stint.now() + interval '30 s', $2)`,
      [id, JSON.stringify(facts)],
    )
    return id
  }

  /** The job runs since some seconds under this worker, as a claim of a limited queue leaves it. */
  async run(id: string, worker: string, seconds = 250): Promise<void> {
    await this.query(
      `update stint.job
          set state = 'running', worker_id = $2, lease_id = gen_random_uuid(), attempt = attempt + 1, epoch = epoch + 1,
              started_at = stint.now() - make_interval(secs => $3), claim_seq = nextval('stint.claim_order')
        where id = $1`,
      [id, worker, seconds],
    )
  }

  /** A concurrency limit over a queue, with the count that its first claim makes. */
  async limit(queue: string, max: number, { byKey = false } = {}): Promise<string> {
    const name = newName('limit')
    await this.query(`insert into stint.concurrency_limit (name, by_key, max) values ($1, $2, $3)`, [
      name,
      byKey,
      max,
    ])
    await this.#cover(queue, 'concurrency', name)
    return name
  }

  async rate(queue: string, tokens: number, burst: number): Promise<string> {
    const name = newName('rate')
    await this.query(`insert into stint.rate (name, tokens, period_ms, burst) values ($1, $2, 1000, $3)`, [
      name,
      tokens,
      burst,
    ])
    await this.#cover(queue, 'rate', name)
    return name
  }

  async #cover(queue: string, type: string, name: string): Promise<void> {
    await this.query(
      `insert into stint.limit_cover (queue, type, name, since) values ($1, $2, $3, stint.now() - interval '1 h')`,
      [queue, type, name],
    )
    await this.query(
      `insert into stint.queue (name, is_limited) values ($1, true) on conflict (name) do update set is_limited = true`,
      [queue],
    )
    await this.query(`select stint.rebase($1)`, [queue])
  }

  /** What library, CLI and HTTP say, which must be the same. */
  async why(id: string): Promise<Why> {
    const why = await this.stint.why(id)
    const asJson = JSON.parse(JSON.stringify(why)) as unknown
    const cli = await runStint(['job', 'why', id, '-o', 'json'], this.url)
    expect(JSON.parse(cli.stdout)).toEqual(asJson)
    const page = await runStint(['job', 'why', id], this.url)
    for (const { holds, says } of why.predicates) if (holds === false) expect(page.stdout).toContain(says)
    expect((await this.http(`GET /v1/jobs/${id}/why`)).body).toEqual(asJson)
    return why
  }

  /** A request of a viewer. */
  http(request: string): Promise<Answer> {
    if (this.#console === undefined) throw new Error('There is no console outside of a test')
    return call(this.#console, request, { token: tokens.viewer.token })
  }

  /** The first predicate that does not hold, and what it says. */
  async first(id: string): Promise<string> {
    const { first, predicates } = await this.why(id)
    return `${String(first)}: ${predicates.find(({ name }) => name === first)?.says ?? ''}`
  }
}
