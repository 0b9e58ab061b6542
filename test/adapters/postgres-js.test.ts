import postgres from 'postgres'
import { postgresJs } from '../../src/adapters/postgres-js.ts'
import { describeAdapter } from './scene.ts'
import type { NotesApp } from './scene.ts'

describeAdapter('postgres.js', postgresJs, (url) => openApp(postgres(url)))

describeAdapter('postgres.js with columns in camel case', postgresJs, (url) =>
  openApp(postgres(url, { transform: postgres.camel })),
)

function openApp(sql: postgres.Sql): Promise<NotesApp<postgres.TransactionSql>> {
  return Promise.resolve({
    transaction: (work) => sql.begin(work),
    insertNote: (tx, text) => tx`insert into note ${tx({ text })}`,
    notTransaction: sql,
    close: () => sql.end(),
  })
}
