import { span } from '../../core/span.ts'
import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { versionsSql } from './versions.sql.ts'

interface Mixed {
  /** Null: these are versions of Stint itself. */
  queue: string | null
  versions: string[]
  youngestMs: number
}

export const versions: Check = async (db, { deployMs }) => {
  const mixed = await run(db, versionsSql, {}, (row: Mixed) => row)
  if (mixed.length === 0)
    return {
      level: 'ok',
      title: 'All workers run the same version',
      detail: 'The same version of Stint everywhere, and of your code in each queue.',
    }
  const said = mixed.map(({ queue, versions: found }) =>
    queue === null ? `stint ${found.join(' and ')}` : `code of queue ${queue}: ${found.join(' and ')}`,
  )
  const isDeploying = mixed.every(({ youngestMs }) => youngestMs < deployMs)
  return {
    level: isDeploying ? 'ok' : 'warn',
    title: isDeploying ? 'A deployment is under way' : 'Workers run different versions',
    detail: `${listing(said, '; ')}. ${
      isDeploying
        ? `The newest worker started less than ${span(deployMs)} ago.`
        : `No worker has started in the last ${span(deployMs)}, so this is not a deployment in progress. Old workers were left running, and the same kind of job runs on either version.`
    }`,
    ...(isDeploying ? {} : { fix: 'stint status' }),
  }
}
