import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { JobState } from '../../src/index.ts'
import { typed } from '../support/cli.ts'
import { bury } from '../support/dead-letters.ts'
import { startFor } from '../support/workers.ts'
import type { Scene } from '../support/workers.ts'
import { givenWorker } from './numbers-given.ts'

export const mail = defineJob({ kind: 'mail.send', queue: 'mail' })

export interface CommandLines {
  /**
   * Types a line, with a real file for each FILE. Confirms a bulk command in advance, because there is no terminal to ask.
   * Returns what the command prints.
   */
  type: (line: string) => Promise<string>
  /** A replay waits until its jobs end: here they succeed. */
  workOn: (queue: string) => Promise<void>
  /** Makes a job in this state, and returns its id. */
  jobThat: (state: JobState, queue?: string) => Promise<string>
  stateOf: (id?: string) => Promise<unknown>
}

/** What the tests of command lines share, for the scene of one file. */
export function commandLinesIn(scene: Scene): CommandLines {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'stint-lines-'))
    writeFileSync(join(folder, 'input.json'), '{"to": "ana"}')
    const contracts = join(import.meta.dirname, '../../dist/contracts.js')
    writeFileSync(
      join(folder, 'contracts.mjs'),
      `import { defineJob } from ${JSON.stringify(contracts)}\nexport const mail = defineJob({ kind: 'mail.send', queue: 'mail' })\n`,
    )
  })
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true })
  })

  async function type(line: string): Promise<string> {
    const whole = line
      .replace('--input FILE', `--input ${join(folder, 'input.json')}`)
      .replace('--contracts FILE', `--contracts ${join(folder, 'contracts.mjs')}`)
    const asks = whole.includes('--where') && !whole.includes('job list')
    const { code, stdout, stderr } = await typed(asks ? `${whole} --yes --max 100` : whole, scene.db.url)
    // The doctor exits with 7 when it finds something.
    const isDone = code === 0 || (code === 7 && line === 'stint doctor')
    expect({ line, isDone, stderr }).toMatchObject({ line, isDone: true })
    return stdout
  }

  async function workOn(queue: string): Promise<void> {
    await startFor(scene, defineJob({ kind: 'mail.send', queue }), () => undefined)
  }

  async function jobThat(state: JobState, queue = 'mail'): Promise<string> {
    const { id } = await scene.stint.enqueue(mail, null, {
      queue,
      // A dead one, too: a worker of the queue must not take it before it is buried.
      ...(state === 'scheduled' || state === 'dead' ? { delay: '1h' } : {}),
    })
    if (state === 'dead') await bury(scene.db, id)
    if (state === 'retrying')
      await scene.db.query(
        `update stint.job set state = 'retrying', run_at = now() + interval '9 hours', attempt = 1, epoch = 1 where id = $1`,
        [id],
      )
    if (state === 'running')
      await scene.db.query(
        `update stint.job set state = 'running', worker_id = $2, lease_id = gen_random_uuid(), started_at = now() where id = $1`,
        [id, await givenWorker(scene.db, { queues: { [queue]: 1 } })],
      )
    return id
  }

  async function stateOf(id = ''): Promise<unknown> {
    return (await scene.stint.get(id))?.state
  }

  return { type, workOn, jobThat, stateOf }
}
