import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import type { Level } from '../finding.ts'
import { settingSql } from './setting.sql.ts'

interface Switch {
  name: string
  level: Level
  /** What being off means. */
  means: string
  fix: string
}

/** Checks a setting that may have any value except `off`. */
function isOn({ name, level, means, fix }: Switch): Check {
  return async (db) => {
    const [found] = await run(db, settingSql, { name }, (row: { setting: string; source: string }) => row)
    const title = `${name} is ${found?.setting ?? 'unknown'}`
    if (found?.setting !== 'off') return { level: 'ok', title, detail: 'Committed data survives a crash.' }
    return { level, title, detail: `${means} Set by: ${found.source}.`, fix }
  }
}

const reload = 'select pg_reload_conf();'

export const fsync = isOn({
  name: 'fsync',
  level: 'fail',
  means: 'A crash of the machine can corrupt the database beyond repair, and acknowledged jobs can be lost.',
  fix: `alter system set fsync = on; ${reload}`,
})

export const fullPageWrites = isOn({
  name: 'full_page_writes',
  level: 'fail',
  means: 'A crash of the machine can leave torn pages, which PostgreSQL cannot repair.',
  fix: `alter system set full_page_writes = on; ${reload}`,
})

export const synchronousCommit = isOn({
  name: 'synchronous_commit',
  level: 'warn',
  means:
    'A crash of the server loses the last commits: acknowledged jobs are lost, and finished jobs run again.',
  fix: `alter system set synchronous_commit = on; ${reload}`,
})
