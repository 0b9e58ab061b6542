import { span } from '../../core/span.ts'
import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { autovacuumSql } from './autovacuum.sql.ts'

interface State {
  isOn: boolean
  isCounting: boolean
  excluded: string[]
  lastMs: number | null
  times: number | null
}

const means =
  'Dead rows of finished jobs are not removed. Claims get slower by the hour, the tables grow, and finally the server refuses to write.'

export const autovacuum: Check = async (db) => {
  const [state] = await run(db, autovacuumSql, { schema: db.schema }, (row: State) => row)
  if (state === undefined)
    return {
      level: 'unknown',
      title: `There is no schema '${db.schema}'`,
      detail: 'There are no tables to vacuum.',
    }
  const last =
    state.lastMs === null
      ? 'Autovacuum has not vacuumed the jobs table since the statistics were reset.'
      : `Autovacuum last vacuumed the jobs table ${span(state.lastMs)} ago, ${state.times ?? 0} times in total.`
  if (!state.isOn || !state.isCounting) {
    const name = state.isOn ? 'track_counts' : 'autovacuum'
    return {
      level: 'fail',
      title: `${name} is off`,
      detail: `${means} ${last}`,
      fix: `alter system set ${name} = on; select pg_reload_conf();`,
    }
  }
  if (state.excluded.length > 0)
    return {
      level: 'fail',
      title: `Autovacuum is off for ${listing(state.excluded)}`,
      detail: `${means} ${last}`,
      fix: state.excluded
        .map((table) => `alter table "${db.schema}"."${table}" reset (autovacuum_enabled);`)
        .join('\n'),
    }
  return { level: 'ok', title: 'Autovacuum is on', detail: last }
}
