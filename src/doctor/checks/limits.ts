import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'
import { limitsSql } from './limits.sql.ts'

interface Found {
  name: string
  type: 'limit' | 'rate'
  problem: keyof typeof words
}

const words = {
  broken:
    'has a stored row with a bad tier, or an override without an end or a value: that part has no effect',
  missing: 'has rules of keys, but does not exist',
  unused: 'is in the code of no live worker: its jobs are still limited',
  idle: 'covers no queue that has jobs or a worker: is its queue misspelt?',
} as const

export const limits: Check = async (db) => {
  const found = await run(db, limitsSql, {}, (row: Found) => row)
  const [first] = found
  if (first === undefined)
    return {
      level: 'ok',
      title: 'Limits and rates are in use',
      detail: 'Each stored limit and rate is in the code of a live worker, or no worker is alive.',
    }
  return {
    level: 'warn',
    title: `${found.length === 1 ? 'A limit needs' : `${found.length} limits need`} attention`,
    detail: `${listing(
      found.map(({ name, type, problem }) => `The ${type} ${name} ${words[problem]}`),
      '; ',
    )}.`,
    fix: fixOf(first),
  }
}

function fixOf({ name, problem }: Found): string {
  if (problem === 'broken') return `stint limit clear ${name}`
  return problem === 'idle' ? `stint limit get ${name}` : `stint limit delete ${name}`
}
