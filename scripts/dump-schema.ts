// Writes src/schema/schema.sql: the schema of a migrated database, for people to review. It is committed, so that a
// review reads the schema's diff and not only the migration; test/schema.test.ts fails when it is stale. Also writes
// src/schema/expected-objects.ts: the same object by object, which the doctor compares with a live schema. Reads the
// catalogue itself, because the embedded server has no pg_dump.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { startEmbedded } from '../src/embedded/start.ts'
import { Stint } from '../src/index.ts'
import { describeObjects, describeSchema } from '../test/support/describe-schema.ts'

const dir = mkdtempSync(join(tmpdir(), 'stint-schema-'))
const server = await startEmbedded({ dir, fsync: 'off' })
try {
  const stint = new Stint({ connection: server.url })
  await stint.migrate()
  await stint.close()
  writeFileSync(
    new URL('../src/schema/schema.sql', import.meta.url),
    await describeSchema(server.url, 'stint'),
  )
  const objects = await describeObjects(server.url, 'stint')
  const path = fileURLToPath(new URL('../src/schema/expected-objects.ts', import.meta.url))
  const text = `/** What the migrations make, by schema/objects.sql. Made by \`npm run schema:dump\`; do not edit. */
export const expectedObjects: Readonly<Record<string, string>> = ${JSON.stringify(objects)}
`
  writeFileSync(path, await format(text, { ...(await resolveConfig(path)), filepath: path }))
} finally {
  await server.release()
  rmSync(dir, { recursive: true, force: true })
}
