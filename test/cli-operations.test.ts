import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { defineJob, Stint } from '../src/index.ts'
import { PermanentError, Worker } from '../src/worker.ts'
import { runStint } from './support/cli.ts'
import type { CommandResult } from './support/cli.ts'
import { createTestDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { bury } from './support/dead-letters.ts'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'

const job = defineJob({ kind: 'mail.send', queue: 'mail' })

let db: TestDatabase
let stint: Stint
beforeAll(async () => {
  db = await createTestDatabase()
  stint = new Stint({ connection: db.url })
})
afterAll(async () => {
  await stint.close()
  await db.drop()
})

function run(...args: string[]): Promise<CommandResult> {
  return runStint(args, db.url)
}

async function deadIn(queue: string, count: number, fingerprint: string): Promise<string[]> {
  const { jobs } = await stint.enqueueMany(
    job,
    Array.from({ length: count }, () => ({})),
    { queue },
  )
  for (const { id } of jobs) await bury(db, id, { fingerprint })
  return jobs.map(({ id }) => id)
}

/** A replay waits until its jobs end. */
async function workOn(queue: string, handler: () => void): Promise<void> {
  const worker = new Worker({ connection: db.url, queues: { [queue]: 2 }, log: false }).handle(job, handler)
  await worker.start()
  onTestFinished(() => worker.stop())
}

describe('stint dead replay --where', () => {
  test('stint dead replay --dry-run shows what it would do, and changes nothing', async () => {
    await deadIn('dry', 3, 'aaaa000000000000')
    const { code, stderr } = await run('dead', 'replay', 'aaaa', '--dry-run')
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/match +3/) as string })
    expect((await stint.search({ where: 'queue:dry state:dead' })).jobs).toHaveLength(3)
  })

  test('stint dead replay --where requires a reason, and without a terminal --yes and --max', async () => {
    await deadIn('careful', 1, 'bbbb000000000000')
    const where = ['dead', 'replay', '--where', 'queue:careful']
    expect(await run(...where)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--reason') as string,
    })
    expect(await run(...where, '--reason', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--yes') as string,
    })
    expect(await run(...where, '--reason', 'x', '--yes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--max') as string,
    })
    expect(await run('dead', 'replay', '--where', 'queue:careful sate:x', '--dry-run')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean "state:"?') as string,
    })
    expect((await stint.search({ where: 'queue:careful state:dead' })).jobs).toHaveLength(1)
  })

  test('stint dead replay executes the operation itself without an executor, records the actor, and reports the result', async () => {
    const ids = await deadIn('bulk', 5, 'cccc000000000000')
    await stint.dead.discard(ids[0] ?? '')
    await workOn('bulk', () => undefined)
    const done = await run(
      ...['dead', 'replay', 'cccc', '--reason', 'fixed', '--yes', '--max', '100', '-o', 'json'],
    )
    expect({ code: done.code, stderr: done.stderr }).toMatchObject({ code: 0 })
    const operation = JSON.parse(done.stdout) as { id: string; acted: number; actor: string }
    expect(operation).toMatchObject({
      state: 'done',
      acted: 4,
      matched: 4,
      actor: expect.stringMatching(/^cli:/) as string,
    })
    expect((await run('op', 'get', operation.id)).stdout).toContain('fixed')
    expect((await run('op', 'list', '-o', 'id')).stdout).toContain(operation.id)
    const acted = await run('op', 'jobs', operation.id, '--outcome', 'acted', '--limit', '3', '-o', 'id')
    const [, cursor = ''] = /more: --cursor (\S+)/.exec(acted.stderr) ?? []
    const rest = await run('op', 'jobs', operation.id, '--cursor', cursor, '-o', 'id')
    expect(`${acted.stdout}${rest.stdout}`.trim().split('\n').sort()).toEqual(ids.slice(1).sort())
    expect((await run('op', 'jobs', operation.id, '--outcome', 'failed')).stderr).toContain('no jobs')
    expect(await run('op', 'jobs', '019a8c3e-7c1b-7d5e-9f4e-2a6b0c1d2e3f')).toMatchObject({ code: 3 })
    expect(await run('op', 'abort', operation.id)).toMatchObject({ code: 4 })
    expect(await run('op', 'get', '019a8c3e-7c1b-7d5e-9f4e-2a6b0c1d2e3f')).toMatchObject({ code: 3 })
    const audit = JSON.parse((await run('audit', 'list', '--action', 'operation', '-o', 'json')).stdout) as {
      entries: unknown[]
    }
    expect(audit.entries).toMatchObject([
      { action: 'operation.abort', outcome: 'refused' },
      { action: 'operation.replay', origin: 'cli', reason: 'fixed' },
    ])
  })

  test('stint dead replay reports jobs that die again, and exits with 5', async () => {
    await deadIn('again', 3, 'ffff000000000000')
    await workOn('again', () => {
      throw new PermanentError('no such box')
    })
    const done = await run(
      ...['dead', 'replay', '--where', 'queue:again', '--canary', '0', '--reason', 'hope'],
      ...['--yes', '--max', '100'],
    )
    expect(done).toMatchObject({
      code: 5,
      stdout: expect.stringMatching(
        /state +done, died again\nnote +3 of 3 died again: 3 with another\.\n[^]*acted +3\n +succeeded +0\n +had not ended +0\n +died again +3: 0 with the same error, 3 with another\n/,
      ) as string,
      stderr: expect.stringContaining('died again 3') as string,
    })
  })

  test('a command with more matches than --max is refused', async () => {
    await deadIn('ceiling', 3, 'dddd000000000000')
    const done = await run(
      ...['dead', 'discard', '--where', 'queue:ceiling', '--reason', 'x', '--yes', '--max', '2'],
    )
    expect(done).toMatchObject({ code: 4, stderr: expect.stringContaining('too-many-matches') as string })
  })
})

describe('stint job', () => {
  test('stint job list takes a filter', async () => {
    const [id] = await deadIn('listed', 1, 'eeee000000000000')
    expect((await run('job', 'list', '--where', 'queue:listed error:eeee', '-o', 'id')).stdout.trim()).toBe(
      id,
    )
    expect(await run('job', 'list', '--where', 'queue:a', '--queue', 'b')).toMatchObject({ code: 2 })
  })

  test('stint job runs now, moves, reprioritizes and edits jobs, each with an audit entry', async () => {
    const { id } = await stint.enqueue(job, {}, { delay: '1h' })
    expect((await run('job', 'reprioritize', id, '--priority=-7', '--reason', 'later')).code).toBe(0)
    expect((await run('job', 'reschedule', id, '--delay', '2h')).code).toBe(0)
    expect((await run('job', 'run-now', id)).code).toBe(0)
    expect(await stint.get(id)).toMatchObject({ state: 'ready', priority: -7 })
    expect((await run('job', 'cancel', id, '--reason', 'enough')).code).toBe(0)
    expect((await run('job', 'run-now', id)).code).toBe(4)
    const { entries } = await stint.audit.list({ target: id })
    expect(entries.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
      'job.run-now refused',
      ...['job.cancel done', 'job.run-now done', 'job.reschedule done', 'job.reprioritize done'],
    ])
    const [dead = ''] = await deadIn('edited', 1, 'ffff000000000000')
    const folder = mkdtempSync(join(tmpdir(), 'stint-edit-'))
    const [input, contracts] = [join(folder, 'input.json'), join(folder, 'contracts.mjs')]
    await writeFile(input, '{"to":"bo"}')
    const entry = join(import.meta.dirname, '../dist/contracts.js')
    await writeFile(
      contracts,
      `import { defineJob } from ${JSON.stringify(entry)}\nexport const mail = defineJob({ kind: 'mail.send' })\n`,
    )
    const edited = await run(
      ...['job', 'edit', dead, '--input', input, '--contracts', contracts, '--reason', 'typo', '-o', 'id'],
    )
    expect({ code: edited.code, stderr: edited.stderr }).toMatchObject({ code: 0 })
    expect(await stint.get(edited.stdout.trim())).toMatchObject({
      input: { to: 'bo' },
      replaces: dead,
      queue: 'edited',
    })
  })
})
