import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { z } from 'zod'
import { defineJob, fileBlobStore, Stint } from '../src/index.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { bury } from './support/dead-letters.ts'
import type { Death } from './support/dead-letters.ts'

export const mail = defineJob({
  kind: 'mail.send',
  queue: 'mail',
  input: z.object({ to: z.string().min(3), text: z.string().optional() }),
  key: (input) => input.to,
  search: (input) => ({ to: input.to }),
})

/** An id that no job has. */
export const unknownId = '01890000-0000-7000-8000-000000000000'

type MailOptions = Parameters<typeof Stint.prototype.enqueue<typeof mail>>[2]

export interface DeadLettersScene {
  readonly db: TestDatabase
  /** A client with a blob store. */
  readonly stint: Stint
  /** Stores a dead letter of kind `mail.send` and returns its id. */
  deadMail: (options?: MailOptions, death?: Death) => Promise<string>
}

/** A database of its own and a client, for the tests of one file. */
export function deadLettersScene(): DeadLettersScene {
  const scene: { db?: TestDatabase; dir?: string; stint?: Stint } = {}
  beforeAll(async () => {
    scene.db = await createTestDatabase()
    scene.dir = await mkdtemp(join(tmpdir(), 'stint-dead-'))
    scene.stint = new Stint({ connection: scene.db.url, blobs: { store: fileBlobStore({ dir: scene.dir }) } })
  })
  afterAll(async () => {
    await scene.stint?.close()
    await scene.db?.drop()
    if (scene.dir !== undefined) await rm(scene.dir, { recursive: true })
  })
  const here: DeadLettersScene = {
    get db() {
      return scene.db ?? missing()
    },
    get stint() {
      return scene.stint ?? missing()
    },
    deadMail: async (options = {}, death = {}) => {
      const { id } = await here.stint.enqueue(mail, { to: 'ana' }, options)
      await bury(here.db, id, death)
      return id
    },
  }
  return here
}

function missing(): never {
  throw new Error('There is no scene outside of a test')
}
