import { bullmqPg } from './bullmq-pg.ts'
import { bullmq } from './bullmq.ts'
import { graphileWorker } from './graphile-worker.ts'
import { noQueue } from './no-queue.ts'
import { pgBoss, pgBossPrepared, pgBossWide } from './pg-boss.ts'
import { stint, stintBefore } from './stint.ts'
import type { System } from './system.ts'

/** The systems that a plain run compares. */
export const systems: readonly System[] = [stint, pgBoss, graphileWorker, bullmq]

/** Further systems that --only may name. */
export const optionalSystems: readonly System[] = [stintBefore, bullmqPg, pgBossPrepared, pgBossWide]

export function systemNamed(name: string): System {
  const found = [...systems, ...optionalSystems, noQueue].find((system) => system.name === name)
  if (!found) throw new Error(`No system named '${name}'`)
  return found
}
