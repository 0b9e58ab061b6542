import { beforeAll } from 'vitest'
import type { PgTransaction } from '../../src/index.ts'
import type { HandlerContext } from '../../src/worker.ts'
import { workerScene } from '../support/workers.ts'
import type { Scene } from '../support/workers.ts'

/** A database with a table that blocks of ctx.tx write to. */
export interface TxScene {
  readonly scene: Scene
  /** The texts of the committed effects of a job. */
  effectsOf: (id: string) => Promise<string[]>
  /** The inputs of the committed children of a job. */
  childrenOf: (id: string) => Promise<unknown[]>
}

/** Created before the first test of a file, and removed after the last. */
export function txScene(): TxScene {
  const scene = workerScene()
  beforeAll(async () => {
    // No unique index, so that an effect that happened twice is visible.
    await scene.db.query('create table public.effect (job uuid not null, text text not null)')
  })
  return {
    scene,
    effectsOf: async (id) => {
      const rows = await scene.db.query<{ text: string }>('select text from public.effect where job = $1', [
        id,
      ])
      return rows.map(({ text }) => text)
    },
    childrenOf: async (id) => {
      const rows = await scene.db.query<{ input: unknown }>(
        'select input from stint.job where parent_id = $1 order by id',
        [id],
      )
      return rows.map(({ input }) => input)
    },
  }
}

/** Writes an effect of the job in a transaction. */
export function effect(tx: PgTransaction, { jobId }: HandlerContext, text = 'done'): Promise<unknown> {
  return tx.query('insert into public.effect values ($1, $2)', [jobId, text])
}
