// Runs the quick start of the README as it stands there, with the real command, worker and database.
import { chmod, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Stint } from '../src/index.ts'
import { keeperPid, query, untilGone } from './embedded/scene.ts'
import { finish, start } from './support/processes.ts'
import { repository } from './support/worker-process.ts'

/** The files of the quick start by name; each block of code begins with a comment that names its file. */
async function quickStart(): Promise<Map<string, string>> {
  const readme = await readFile(join(repository, 'README.md'), 'utf8')
  const blocks = readme.matchAll(/```ts\n(\/\/ (\S+\.ts):[^]*?)```/g)
  return new Map([...blocks].map(([, text = '', file = '']) => [file, text]))
}

/** A folder as \`npm install stint zod\` leaves it. */
async function emptyProject(): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), 'stint-first-'))
  onTestFinished(() => rm(project, { recursive: true, force: true }))
  // The embedded server may run as another user.
  await chmod(project, 0o755)
  await writeFile(join(project, 'package.json'), '{"type":"module"}')
  await mkdir(join(project, 'node_modules'))
  await symlink(repository, join(project, 'node_modules/stint'))
  for (const name of ['tsx', 'zod'])
    await symlink(join(repository, 'node_modules', name), join(project, 'node_modules', name))
  return project
}

test('the files of the README run a job under stint dev, and the changed handler runs the next job', async () => {
  const project = await emptyProject()
  const inProject = { cwd: project, env: { ...process.env, DATABASE_URL: '' } }
  /** Writes in one step: emptying a file and then writing it are two changes if there is time between them. */
  const write = async (file: string, text: string): Promise<void> => {
    await writeFile(join(project, `${file}.part`), text)
    await rename(join(project, `${file}.part`), join(project, file))
  }
  const files = await quickStart()
  expect([...files.keys()]).toEqual(['contracts.ts', 'worker.ts', 'enqueue.ts'])
  for (const [file, text] of files) await write(file, text)

  const running = start(process.execPath, ['node_modules/stint/dist/cli/main.js', 'dev'], inProject)
  onTestFinished(() => void running.child.kill('SIGKILL'))
  const [url = ''] = /(?<=DATABASE_URL=)\S+/.exec(await running.says('Ctrl-C')) ?? []
  await running.says('worker ready')
  const stint = new Stint({ connection: url })
  onTestFinished(() => stint.close())

  /** What the handler returned for a job that enqueue.ts made. */
  const resultOfNext = async (): Promise<unknown> => {
    const enqueued = await finish(process.execPath, ['--import', 'tsx', 'enqueue.ts'], inProject)
    expect(enqueued).toMatchObject({ code: 0, stderr: '' })
    const id = enqueued.stdout.trim()
    await expect.poll(async () => (await stint.get(id))?.state).toBe('succeeded')
    return (await stint.get(id))?.result
  }
  expect(await resultOfNext()).toEqual({ url: 'https://cdn.example.com/a1/400.webp' })

  // An enum is TypeScript that Node cannot run by itself.
  const changed = (files.get('worker.ts') ?? '').replace('.webp', '.${Format.Newer}')
  await write('worker.ts', `enum Format { Newer = 'avif' }\n${changed}`)
  await running.says('reloaded: worker.ts changed')
  expect(await resultOfNext()).toEqual({ url: 'https://cdn.example.com/a1/400.avif' })

  const keeper = await keeperPid(join(project, '.stint/postgres'))
  await stint.close()
  // As Ctrl-C does.
  running.child.kill('SIGINT')
  const { code, stdout, stderr } = await running.finished
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/worker stopped[^]*stopped\n$/)
  expect(stdout.match(/reloaded/g)).toHaveLength(1)
  await untilGone(keeper)
  await expect(query(url, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})
