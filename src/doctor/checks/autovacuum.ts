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
  'Dead rows of jobs that are gone stay where they are: claims get slower by the hour, the tables grow, and in the end the server refuses to write.'

export const autovacuum: Check = async (db) => {
  const [state] = await run(db, autovacuumSql, { schema: db.schema }, (row: State) => row)
  if (state === undefined)
    return { level: 'unknown', title: `There is no schema '${db.schema}'`, detail: 'Nothing to vacuum.' }
  const last =
    state.lastMs === null
      ? 'The jobs table has not been vacuumed by it since the statistics began.'
      : `The jobs table was last vacuumed by it ${span(state.lastMs)} ago, ${state.times ?? 0} times in all.`
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
