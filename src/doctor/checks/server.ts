import { run } from '../../db/statement.ts'
import type { Check } from '../check.ts'
import { serverSql } from './server.sql.ts'

interface Server {
  version: string
  number: number
  isReadOnly: boolean
}

export const server: Check = async (db, { minServer }) => {
  const [found] = await run(db, serverSql, {}, (row: Server) => row)
  const title = `PostgreSQL ${found?.version ?? '?'}`
  if (found?.isReadOnly === true)
    return {
      level: 'fail',
      title: `${title} is read-only`,
      detail:
        'Jobs cannot be stored or run here. The server is a standby, or default_transaction_read_only is on. Connect to the primary.',
    }
  if (found !== undefined && found.number < minServer)
    return {
      level: 'fail',
      title,
      detail: `Stint needs PostgreSQL ${Math.floor(minServer / 10_000)} or later; parts of it will not work.`,
    }
  return { level: 'ok', title, detail: 'Stint supports this version.' }
}
