import { span } from '../../core/span.ts'
import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { worst } from '../finding.ts'
import type { Level } from '../finding.ts'
import type { Limits } from '../limits.ts'
import { listing } from '../listing.ts'
import { snapshotsSql } from './snapshots.sql.ts'

interface Holder {
  type: 'session' | 'prepared' | 'slot'
  name: string
  application: string
  user: string | null
  state: string | null
  query: string | null
  isActive: boolean
  /** Null if this login may not see it. */
  ageMs: number | null
  /** Its age in transactions. */
  xids: number
  /** The login that runs the check. */
  login: string
}

export const snapshots: Check = async (db, limits) => {
  const holders = await run(db, snapshotsSql, {}, (row: Holder) => row)
  const judged = holders.map((holder) => ({ holder, level: levelOf(holder, limits) }))
  const level = worst(judged.map((one) => one.level))
  const bad = judged.filter((one) => one.level === 'warn' || one.level === 'fail').map(({ holder }) => holder)
  const hidden = judged.filter((one) => one.level === 'unknown').map(({ holder }) => holder)
  const unseen =
    hidden.length === 0
      ? ''
      : ` Without pg_read_all_stats this login cannot see how long these sessions of other logins have held a snapshot: ${listing(hidden.map(({ name }) => name))}.`
  const [oldest] = bad
  if (oldest === undefined) {
    if (level === 'unknown')
      return {
        level,
        title: `The snapshot age of ${hidden.length} ${hidden.length === 1 ? 'session' : 'sessions'} is not visible`,
        detail: unseen.trim(),
        fix: `grant pg_read_all_stats to ${hidden[0]?.login ?? ''};`,
      }
    return {
      level,
      title: 'No snapshot has been held for long',
      detail: `No snapshot is older than ${span(limits.snapshotWarnMs)}, so vacuum can remove dead rows.`,
    }
  }
  return {
    level,
    title: `A snapshot is held by ${nameOf(oldest)}${oldest.ageMs === null ? '' : ` for ${span(oldest.ageMs)}`}`,
    detail: `${listing(bad.map(describe), '; ')}. Until it is released, vacuum cannot remove rows deleted since then, and the jobs table grows with every job.${unseen}`,
    fix: bad.map(fixOf).join('\n'),
  }
}

function levelOf({ type, isActive, ageMs, xids }: Holder, limits: Limits): Level {
  if (type === 'slot') return xids > limits.slotXids || !isActive ? 'warn' : 'ok'
  if (ageMs === null) return 'unknown'
  if (ageMs >= limits.snapshotFailMs) return 'fail'
  return ageMs >= limits.snapshotWarnMs ? 'warn' : 'ok'
}

function nameOf({ type, name, application }: Holder): string {
  switch (type) {
    case 'session':
      return `process ${name}${application === '' ? '' : ` (${application})`}`
    case 'prepared':
      return `the prepared transaction '${name}'`
    case 'slot':
      return `the replication slot '${name}'`
    default:
      return type satisfies never
  }
}

function describe(holder: Holder): string {
  const { user, state, query, isActive, ageMs, xids } = holder
  return [
    `${nameOf(holder)}${user === null ? '' : ` of ${user}`}`,
    ...(ageMs === null ? [] : [`for ${span(ageMs)}`]),
    ...(isActive ? [] : ['not active']),
    ...(state === null ? [] : [state]),
    `${xids} transactions back`,
    ...(query === null || query === '' ? [] : [`last query: ${query.replace(/\s+/g, ' ')}`]),
  ].join(', ')
}

function fixOf({ type, name }: Holder): string {
  switch (type) {
    case 'session':
      return `select pg_terminate_backend(${name});`
    case 'prepared':
      return `rollback prepared '${name.replaceAll("'", "''")}';`
    case 'slot':
      return `select pg_drop_replication_slot('${name}'); -- if its standby is gone for good`
    default:
      return type satisfies never
  }
}
