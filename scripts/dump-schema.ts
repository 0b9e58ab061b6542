// Writes src/schema/schema.sql: the schema as a migrated database has it, for people to review. Committed, so that a
// review reads the schema's diff and not only the migration; test/schema.test.ts fails when it is stale.
// Made from the catalogue by hand, because the embedded server comes without pg_dump.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '../src/embedded/start.ts'
import { Stint } from '../src/entry/index.ts'
import { describeSchema } from '../test/support/describe-schema.ts'

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
} finally {
  await server.release()
  rmSync(dir, { recursive: true, force: true })
}
