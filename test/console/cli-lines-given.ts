import { randomUUID } from 'node:crypto'
import { plantBreaker } from '../support/planted-breaker.ts'
import { park, plantFlow } from '../support/planted-flow.ts'
import { newName } from '../support/workers.ts'
import type { Scene } from '../support/workers.ts'
import { mail } from './cli-lines-scene.ts'
import { givenWorker } from './numbers-given.ts'

/** What command lines act on beside jobs. Each function makes one, and returns its name or id. */
export interface Givens {
  schedule: (given?: { isPaused?: boolean }) => Promise<string>
  breaker: () => Promise<string>
  /** A limit by key; with `key`, this key has its own maximum. */
  limit: (given?: { isOverridden?: boolean; key?: string }) => Promise<string>
  rate: () => Promise<string>
  errorGroup: (given?: { isIgnored?: boolean }) => Promise<string>
  /** A flow with a job that is ready, and one that is dead. */
  flow: () => Promise<string>
  /** A job that is parked because its steps have changed. */
  parked: () => Promise<string>
  worker: (given?: { isPaused?: boolean }) => Promise<string>
  /** The state that a person ordered for a live worker, or null. */
  wantedOf: (worker?: string) => Promise<string | null>
}

/** The same for the scene of one file. */
export function givenIn(scene: Scene): Givens {
  return {
    async schedule({ isPaused = false } = {}) {
      const name = newName('nightly')
      await scene.stint.schedules.set({ name, job: mail, cron: '0 2 * * *' })
      if (isPaused) await scene.stint.schedules.pause(name)
      return name
    },

    async breaker() {
      const name = newName('smtp')
      await plantBreaker(scene.db, { name, queue: mail.queue, kind: `mail.${name}` })
      return name
    },

    async limit({ isOverridden = false, key } = {}) {
      const name = newName('limit')
      await scene.db.query(`insert into stint.concurrency_limit (name, by_key, max) values ($1, true, 2)`, [
        name,
      ])
      if (isOverridden) await scene.stint.limits.override(name, { max: 5, for: '1h' })
      if (key !== undefined) await scene.stint.limits.setKey(name, key, { max: 5 })
      return name
    },

    async rate() {
      const name = newName('rate')
      await scene.db.query(
        `insert into stint.rate (name, tokens, period_ms, burst) values ($1, 60, 60000, 10)`,
        [name],
      )
      return name
    },

    async errorGroup({ isIgnored = false } = {}) {
      const group = randomUUID().replaceAll('-', '').slice(0, 16)
      await scene.db.query(
        `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job)
         values ($1, 'mail.send', 'transient', 'SmtpError', 'no such box', 'no such box', now(), now(), $2)`,
        [group, randomUUID()],
      )
      if (isIgnored) await scene.stint.errors.ignore(group)
      return group
    },

    async flow() {
      const nodes = [
        { name: 'first', jobs: ['ready'] as const },
        { name: 'second', jobs: ['dead'] as const },
      ]
      return (await plantFlow(scene.db, { ...mail, name: newName('flow'), nodes })).id
    },

    async parked() {
      const { id } = await scene.stint.enqueue(mail, null)
      await park(scene.db, id)
      return id
    },

    async worker({ isPaused = false } = {}) {
      const id = await givenWorker(scene.db, { queues: { idle: 1 } })
      if (isPaused) await scene.stint.workers.pause(id)
      return id
    },

    async wantedOf(worker) {
      const found = (await scene.stint.workers.list()).find(({ id }) => id === worker)
      if (found === undefined) throw new Error(`no live worker ${worker ?? ''}`)
      return found.wanted?.state ?? null
    },
  }
}
