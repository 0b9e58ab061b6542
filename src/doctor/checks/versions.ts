import { span } from '../../core/span.ts'
import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { versionsSql } from './versions.sql.ts'

interface Mixed {
  /** Null: of Stint itself. */
  queue: string | null
  versions: string[]
  youngestMs: number
}

export const versions: Check = async (db, { deployMs }) => {
  const mixed = await run(db, versionsSql, {}, (row: Mixed) => row)
  if (mixed.length === 0)
    return {
      level: 'ok',
      title: 'Workers are of one version',
      detail: 'Of Stint, and of your code among the workers of each queue.',
    }
  const said = mixed.map(({ queue, versions: found }) =>
    queue === null ? `stint ${found.join(' and ')}` : `the code of ${queue}: ${found.join(' and ')}`,
  )
  const isDeploying = mixed.every(({ youngestMs }) => youngestMs < deployMs)
  return {
    level: isDeploying ? 'ok' : 'warn',
    title: isDeploying ? 'A deployment is under way' : 'Workers are of different versions',
    detail: `${listing(said, '; ')}. ${
      isDeploying
        ? `The youngest worker has been up for less than ${span(deployMs)}.`
        : `No worker was started for ${span(deployMs)}, so this is no deployment any more: some were left behind, and the same kind of job runs by one code or another.`
    }`,
    ...(isDeploying ? {} : { fix: 'stint status' }),
  }
}
