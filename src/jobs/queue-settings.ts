import { run } from '../db/statement.ts'
import type { Queryable } from '../db/statement.ts'
import { allPauses, pausesOf } from './pauses/pauses.ts'
import type { Pause } from './pauses/pauses.ts'
import { setSql } from './set.sql.ts'
import { settingSql } from './setting.sql.ts'
import { settingsSql } from './settings.sql.ts'

/** The settings of a queue, and its pauses. */
export interface QueueSettings {
  queue: string
  /** How long finished jobs are kept; null: the default, 7 days. */
  keepMs: number | null
  /** How long dead letters are kept; null: for ever. */
  keepDeadMs: number | null
  /** Null if nothing was ever set. */
  updatedAt: Date | null
  /** The pauses in effect: that of the queue itself first, then those of its kinds and keys. */
  pauses: Pause[]
}

interface SettingsRow {
  name: string | null
  keep_ms: number | null
  keep_dead_ms: number | null
  updated_at: Date | null
}

export async function allSettings(db: Queryable): Promise<QueueSettings[]> {
  const rows = await run(db, settingsSql, {}, (row: SettingsRow) => row)
  const pauses = await allPauses(db)
  const byName = new Map(rows.map((row) => [row.name ?? '', row]))
  // A queue with a paused kind or key need not have a row of its own.
  const names = [...new Set([...byName.keys(), ...pauses.keys()])].sort()
  return names.map((name) => toSettings(name, byName.get(name), pauses.get(name) ?? []))
}

export async function settingsOf(db: Queryable, queue: string): Promise<QueueSettings> {
  const [found] = await run(db, settingSql, { name: queue }, (row: SettingsRow) => row)
  return toSettings(queue, found, await pausesOf(db, queue))
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

function toSettings(queue: string, row: SettingsRow | undefined, pauses: Pause[]): QueueSettings {
  const { keep_ms: keepMs = null, keep_dead_ms: keepDeadMs = null, updated_at: updatedAt = null } = row ?? {}
  return { queue, keepMs, keepDeadMs, updatedAt, pauses }
}
