import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Statement } from '../../../src/db/statement.ts'
import type { TestDatabase } from '../../support/database.ts'
import { repository } from '../../support/worker-process.ts'
import type { Build } from './scene.ts'

/** The database of a test comes from a template of the unchanged package, so the functions of a mutant are put into it. */
export async function installFunctions(db: TestDatabase, { root }: Build, name: string): Promise<void> {
  const file = join(root, `dist/schema/migrations/${name}.sql.js`)
  // The bundle of the unchanged package has no such file.
  if (!existsSync(file)) return
  const module = (await import(`${pathToFileURL(file).href}?${Math.random()}`)) as Record<string, unknown>
  const [script] = Object.values(module) as { parts: readonly string[] }[]
  const functions = script?.parts.join('').match(/^create function [\s\S]*?^\$\$;$/gm) ?? []
  for (const text of functions)
    await db.query(text.replaceAll('create function', 'create or replace function'))
}

/** A statement of a build by its file below src, `jobs/cancel.sql`. The bundle of the unchanged package has no such file. */
export async function statementOf({ root }: Build, name: string): Promise<Statement<string>> {
  const file = join(root, `dist/${name}.js`)
  const url = existsSync(file)
    ? `${pathToFileURL(file).href}?${Math.random()}`
    : pathToFileURL(join(repository, `src/${name}.ts`)).href
  const module = (await import(url)) as Record<string, unknown>
  const [statement] = Object.values(module) as Statement<string>[]
  if (statement === undefined) throw new Error(`${name} has no statement`)
  return statement
}
