import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { Console, Identity } from '../../src/server.ts'
import { createConsoleWithin } from '../../src/server/console.ts'
import { bury } from '../support/dead-letters.ts'
import { plantBreaker } from '../support/planted-breaker.ts'
import { plantFlow } from '../support/planted-flow.ts'
import { workerScene } from '../support/workers.ts'
import type { Scene } from '../support/workers.ts'
import { givenMinute, givenWorker } from './numbers-given.ts'
import { patient } from './scene.ts'
import type { Planted, Side } from './scope-requests.ts'

/** Part of the name of everything that the caller may not see. */
export const mark = 'zqsecret'

export const own: Side = {
  contract: defineJob({ kind: 'mail.send', queue: 'mail' }),
  key: 'acme',
  schedule: 'mail.nightly',
  error: 'no such box',
  group: 'aaaaaaaaaaaaaaaa',
}
export const secret: Side = {
  contract: defineJob({ kind: `${mark}.kind`, queue: `${mark}.queue` }),
  key: `${mark}-key`,
  schedule: `${mark}.nightly`,
  error: `${mark} broke`,
  group: 'bbbbbbbbbbbbbbbb',
}

export interface ScopeScene extends Scene {
  /** What exists of the caller's own side. */
  readonly mine: Planted
  /** What exists of the side that the caller may not see. */
  readonly theirs: Planted
  /** The console of a host that narrows its callers like this. */
  consoleOf: (can: Identity['can']) => Console
}

/** Both sides in a database of their own, created before the first test of a file, and removed after the last. */
export function scopeScene(): ScopeScene {
  const scene = workerScene()
  const planted: { mine?: Planted; theirs?: Planted } = {}
  beforeAll(async () => {
    planted.mine = await plant(scene, own, 'mel')
    planted.theirs = await plant(scene, secret, `${mark}-ana`)
    // One process may serve both queues.
    await givenWorker(scene.db, {
      queues: { mail: 1, [secret.contract.queue]: 1 },
      kinds: ['mail.send', secret.contract.kind],
    })
    await keepLeases(scene)
    await scene.db.query(
      `insert into stint.service (name, last_error, last_error_at) values ('fires', $1, now())
       on conflict (name) do update set last_error = excluded.last_error, last_error_at = now()`,
      [`${mark}: no such schedule`],
    )
  })

  const consoles = new Map<Identity['can'], Console>()
  afterAll(async () => {
    for (const served of consoles.values()) await served.close()
  })

  /** One console for each host, because a route is requested hundreds of times. */
  function consoleOf(can: Identity['can']): Console {
    const known = consoles.get(can)
    if (known !== undefined) return known
    const served = createConsoleWithin(patient, {
      connection: scene.db.url,
      contracts: [own.contract, secret.contract],
      auth: () => ({ actor: 'scoped', role: 'admin', origin: 'api', can }),
      onError: (error) => {
        throw error
      },
    })
    consoles.set(can, served)
    return served
  }

  return {
    get db() {
      return scene.db
    },
    get stint() {
      return scene.stint
    },
    get mine() {
      return planted.mine ?? missing()
    },
    get theirs() {
      return planted.theirs ?? missing()
    },
    consoleOf,
  }
}

function missing(): never {
  throw new Error('Nothing is planted outside of a test')
}

/**
 * Lets no worker be lost for an hour: the consoles execute operations, and their worker takes back the jobs of lost
 * workers.
 */
export async function keepLeases({ db }: Scene): Promise<void> {
  await db.query(`update stint.worker set lease_until = now() + interval '1 hour'`)
}

/** Creates jobs in every state, a worker, a schedule, an error group, figures and an operation of a side. */
export async function plant(scene: Scene, side: Side, actor: string): Promise<Planted> {
  const { contract, key, schedule, error, group } = side
  const { queue, kind } = contract
  const text = kind.startsWith(mark) ? mark : 'plain'
  const correlationId = 'shared'
  const add = async (): Promise<string> =>
    (await scene.stint.enqueue(contract, { text }, { key, correlationId })).id
  const worker = await givenWorker(scene.db, {
    host: `${text}-host`,
    queues: { [queue]: 3 },
    kinds: [kind],
    version: `${text}-v1`,
    silentFor: '26 seconds',
  })
  const [ready, running, dead, trashed, finished] = [
    ...[await add(), await add(), await add(), await add(), await add()],
  ] as [string, string, string, string, string]
  await scene.db.query(
    `update stint.job set state = 'running', worker_id = $2, lease_id = gen_random_uuid(), started_at = now() where id = $1`,
    [running, worker],
  )
  const broken = { name: `${text}Error`, message: error, stack: `${error}\n at x`, fingerprint: group }
  for (const id of [dead, trashed]) await bury(scene.db, id, { error: broken, fingerprint: group })
  await scene.stint.dead.discard(trashed)
  await scene.stint.cancel(finished)
  await scene.db.query(
    `insert into stint.log (job_id, epoch, line, level, message, data) values ($1, 1, 1, 'info', $2, $3)`,
    [running, `${text} said`, { text }],
  )
  await scene.db.query(
    `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job)
     values ($1, $2, 'transient', $3, $4, $4, now(), now(), $5)`,
    [group, kind, `${text}Error`, error, dead],
  )
  await scene.db.query(
    `insert into stint.error_hour (fingerprint, hour, process, flush, failures, deaths)
     values ($1, date_trunc('hour', now()), $2, 1, 5, 3)`,
    [group, randomUUID()],
  )
  await scene.stint.schedules.set({ name: schedule, job: contract, input: { text }, cron: '0 2 1 1 *' })
  await scene.db.query(`update stint.schedule set failures = 2, last_error = $2 where name = $1`, [
    schedule,
    error,
  ])
  await scene.db.query(
    `with rule as (insert into stint.concurrency_limit (name, by_key, max) values ($1, true, 5))
     insert into stint.limit_cover (queue, type, name) values ($2, 'concurrency', $1)`,
    [schedule, queue],
  )
  await scene.stint.limits.setKey(schedule, key, { max: 2, reason: error })
  await plantBreaker(scene.db, { name: schedule, queue, kind, error })
  await givenMinute(scene.db, { queue, kind, ago: 1, succeeded: 7, dead: 3 })
  const as = scene.stint.as({ actor, role: 'operator', origin: 'cli' })
  const { id: operation } = await as.operations.start({
    action: 'replay',
    where: `queue:${queue} error:${group}`,
    reason: `${text} reason`,
  })
  await scene.db.query(`update stint.operation set state = 'stopped', note = $2 where id = $1`, [
    operation,
    `${text} note`,
  ])
  const { id: flow } = await plantFlow(scene.db, {
    ...{ queue, kind, key, name: `${text}-flow` },
    nodes: [
      { name: `${text}-node`, jobs: ['dead'] },
      { name: 'last', jobs: ['waiting'], after: [0] },
    ],
  })
  return { ready, running, dead, trashed, finished, operation, worker, flow }
}
