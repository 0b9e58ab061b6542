import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { setSql } from './set.sql.ts'
import { settingSql } from './setting.sql.ts'
import { settingsSql } from './settings.sql.ts'

/** The settings of a queue. */
export interface QueueSettings {
  queue: string
  /** How long finished jobs are kept; null: the default, 7 days. */
  keepMs: number | null
  /** How long dead letters are kept; null: for ever. */
  keepDeadMs: number | null
  /** Null if nothing was ever set. */
  updatedAt: Date | null
}

interface SettingsRow {
  name: string | null
  keep_ms: number | null
  keep_dead_ms: number | null
  updated_at: Date | null
}

export function allSettings(db: Queryable): Promise<QueueSettings[]> {
  return run(db, settingsSql, {}, (row: SettingsRow) => toSettings(row.name ?? '', row))
}

export async function settingsOf(db: Queryable, queue: string): Promise<QueueSettings> {
  const [found] = await run(db, settingSql, { name: queue }, (row: SettingsRow) => toSettings(queue, row))
  return found ?? { queue, keepMs: null, keepDeadMs: null, updatedAt: null }
}

/** Undefined: not changed; null: the default. */
export interface SettingsChange {
  keepMs: number | null | undefined
  keepDeadMs: number | null | undefined
}

export async function setSettings(
  db: Queryable,
  queue: string,
  { keepMs, keepDeadMs }: SettingsChange,
): Promise<void> {
  const keep = { hasKeep: keepMs !== undefined, keepMs: keepMs ?? null }
  const keepDead = { hasKeepDead: keepDeadMs !== undefined, keepDeadMs: keepDeadMs ?? null }
  await run(db, setSql, { name: queue, ...keep, ...keepDead }, () => undefined)
}

function toSettings(queue: string, row: SettingsRow): QueueSettings {
  return { queue, keepMs: row.keep_ms, keepDeadMs: row.keep_dead_ms, updatedAt: row.updated_at }
}
