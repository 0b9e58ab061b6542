import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { createLedger } from '../support/ledger.ts'
import type { Ledger } from '../support/ledger.ts'
import { start } from '../support/processes.ts'
import type { Started } from '../support/processes.ts'
import { eventually, newName, stored, workerScene } from '../support/workers.ts'

const scene = workerScene()
const root = join(import.meta.dirname, '../..')
const cli = join(root, 'dist/cli/main.js')

beforeAll(() => scene.db.query('create table effect (job_id uuid)'))

function program(command: readonly string[], queue: string, more = {}): Started {
  const started = start(process.execPath, command, {
    cwd: root,
    env: {
      ...process.env,
      DATABASE_URL: scene.db.url,
      STINT_PROGRAM: JSON.stringify({ connection: scene.db.url, queue, ...more }),
    },
  })
  onTestFinished(async ({ task }) => {
    started.child.kill('SIGKILL')
    const { stdout, stderr } = await started.finished
    if (task.result?.state === 'fail') process.stderr.write(`${stdout}\n${stderr}\n`)
  })
  return started
}

const selfRun = join(import.meta.dirname, 'programs/self-run.mjs')

async function send(ledger: Ledger, queue: string, act: string): Promise<{ id: string; pid: number }> {
  const job = defineJob({ kind: 'act', queue })
  const { id } = await scene.stint.enqueue(job, { act, ledger: ledger.file })
  const { pid } = await ledger.wrote({ type: 'runs', job: id })
  return { id, pid: Number(pid) }
}

async function has(id: string, state: string): Promise<void> {
  await eventually(async () => (await stored(scene, id)).state === state, `${id} has ${state}`)
}

describe('a program that runs its own worker at its top level', () => {
  test('a program that runs its own worker is its own entry: its children use the same handlers and claim nothing', async () => {
    const ledger = await createLedger()
    const queue = newName()
    const running = program([selfRun], queue)
    const { id, pid } = await send(ledger, queue, 'return')
    await has(id, 'succeeded')
    expect((await stored(scene, id)).result).toMatchObject({ pid, child: 'process' })
    expect(pid).not.toBe(running.child.pid)
    const workers = await scene.db.query<{ pid: number }>(
      `select (about ->> 'pid')::integer as pid from stint.worker where (about ->> 'pid')::integer = any($1)`,
      [[pid, running.child.pid]],
    )
    expect(new Set(workers.map((one) => one.pid))).toEqual(new Set([running.child.pid]))
    running.child.kill('SIGTERM')
    expect(await running.finished).toMatchObject({ code: 0 })
    expect(isAlive(pid)).toBe(false)
  })

  test.each(['obey', 'busy'])(
    'a program that is killed leaves no child behind, even one that would %s',
    async (act) => {
      const ledger = await createLedger()
      const queue = newName()
      const running = program([selfRun], queue)
      const { pid } = await send(ledger, queue, act)
      running.child.kill('SIGKILL')
      await running.finished
      await eventually(() => Promise.resolve(!isAlive(pid)), 'its child is gone')
    },
  )
})

describe('stint work', () => {
  test.each([
    ['ESM', '{"type":"module"}'],
    ['CommonJS', '{}'],
  ])(
    'stint work passes the TypeScript file to its children, which load it as %s',
    async (_what, manifest) => {
      const queue = newName()
      const file = await typeScriptFile(manifest, queue)
      const running = program([cli, 'work', file], queue)
      const byMode = await Promise.all(
        ['process', 'thread'].map(async (kind) => {
          const { id } = await scene.stint.enqueue(defineJob({ kind, queue }), { act: 'return' })
          await has(id, 'succeeded')
          return (await stored(scene, id)).result
        }),
      )
      expect(byMode).toMatchObject([
        { child: 'process', word: 'up' },
        { child: 'thread', word: 'up', pid: running.child.pid },
      ])
      expect((byMode[0] as { pid: number }).pid).not.toBe(running.child.pid)
      running.child.kill('SIGTERM')
      expect(await running.finished).toMatchObject({ code: 0 })
    },
  )
})

/** A separate project, inside this repository so that the package is found, with a worker that Node alone cannot load. */
async function typeScriptFile(manifest: string, queue: string): Promise<string> {
  await mkdir(join(root, '.stint'), { recursive: true })
  const project = await mkdtemp(join(root, '.stint/isolation-'))
  onTestFinished(() => rm(project, { recursive: true, force: true }))
  await mkdir(join(project, 'node_modules'))
  await symlink(root, join(project, 'node_modules/stint'))
  await writeFile(join(project, 'package.json'), manifest)
  const file = join(project, 'worker.ts')
  await writeFile(
    file,
    `import { defineJob } from 'stint/contracts'
import { Worker } from 'stint/worker'

enum Word { Up = 'up' }
export const worker = new Worker({ queues: { '${queue}': 2 }, pollFloor: '200ms' })
for (const kind of ['process', 'thread'] as const)
  worker.handle(
    defineJob({ kind, queue: '${queue}' }),
    () => ({ word: Word.Up, pid: process.pid, child: process.env['STINT_CHILD'] }),
    { isolate: kind },
  )
`,
  )
  return file
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
