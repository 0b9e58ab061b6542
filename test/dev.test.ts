import { chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createEmptyDatabase, createTestDatabase } from './support/database.ts'
import { fakeWorkerFile } from './support/fake-worker.ts'
import { finish, start } from './support/processes.ts'
import type { Started } from './support/processes.ts'

const cli = join(import.meta.dirname, '../dist/cli/main.js')

let project: string
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'stint-dev-'))
  await chmod(project, 0o755)
  await writeFile(join(project, 'package.json'), '{"type":"module"}')
})
afterAll(() => rm(project, { recursive: true, force: true }))

function dev(...args: string[]): Started {
  return start(process.execPath, [cli, 'dev', ...args], {
    cwd: project,
    env: { ...process.env, DATABASE_URL: '' },
  })
}

/** Writes in one step: emptying a file and then writing it are two changes if there is time between them. */
async function write(file: string, text: string): Promise<void> {
  const part = join(project, `${file}.part`)
  await writeFile(part, text)
  await rename(part, join(project, file))
}

describe('stint dev', () => {
  test('stint dev runs the worker file that it finds, with a database, and restarts it when it changes', async () => {
    await write('worker.ts', fakeWorkerFile({ says: 'first' }))
    const running = dev()
    const [url = ''] = /postgres:\S+/.exec(await running.says('up first')) ?? []
    expect(await running.says('up first')).toContain(`up first json ${url}`)

    await write('worker.ts', fakeWorkerFile({ says: 'second' }))
    await running.says('reloaded: worker.ts changed')
    expect(await running.says('up second')).toContain('down first')

    running.child.kill('SIGINT')
    const { code, stdout } = await running.finished
    expect(code).toBe(0)
    expect(stdout).toMatch(/down second[^]*stopped\n$/)
    expect(stdout.match(/reloaded/g)).toHaveLength(1)
  })

  test('stint dev watches files in folders, also new ones, and ignores files that are not source', async () => {
    await write('worker.ts', fakeWorkerFile({ says: 'folders' }))
    for (const folder of ['src', 'dist', 'node_modules/some'])
      await mkdir(join(project, folder), { recursive: true })
    const running = dev()
    await running.says('up folders')
    await write('dist/built.js', '1')
    await write('node_modules/some/index.js', '1')
    await write('data.json', '1')
    await write('src/one.ts', 'export {}')
    await running.says('reloaded: src/one.ts changed')
    await mkdir(join(project, 'src/deep/er'), { recursive: true })
    await write('src/deep/er/two.ts', 'export {}')
    await running.says(`reloaded: ${join('src/deep/er/two.ts')} changed`)
    await write('src/deep/er/three.mjs', 'export {}')
    await running.says(`reloaded: ${join('src/deep/er/three.mjs')} changed`)
    running.child.kill('SIGTERM')
    expect((await running.finished).stdout.match(/reloaded/g)).toHaveLength(3)
  })

  test('stint dev with a syntax error says so and waits for the next change', async () => {
    await write('worker.ts', 'export const worker = {')
    const running = dev()
    await running.says('waiting for a change')
    await write('worker.ts', fakeWorkerFile({ says: 'mended' }))
    await running.says('up mended')
    running.child.kill('SIGINT')
    const { code, stderr, stdout } = await running.finished
    expect(code).toBe(0)
    expect(stderr).toContain('worker.ts')
    expect(stdout).toContain('down mended')
  })

  test('a killed stint dev leaves no worker behind', async () => {
    await write('worker.ts', fakeWorkerFile({ says: 'orphan' }))
    const running = dev()
    await running.says('up orphan')
    running.child.kill('SIGKILL')
    // The output closes when the last process that writes to it has ended.
    expect((await running.finished).stdout).toContain('down orphan')
  })

  test('stint dev runs the given file, and kills a worker that does not stop', async () => {
    await write(
      'stubborn.mjs',
      `process.on('SIGTERM', () => console.log('no'))
       export const worker = {
         [Symbol.for('stint.worker')]: true,
         stop: async () => {},
         run: () => { console.log('stubborn up'); return new Promise((resolve) => setInterval(() => undefined, 60_000)) },
       }`,
    )
    const running = dev('stubborn.mjs')
    const output = await running.says('stubborn up')
    expect(output).toContain('stubborn.mjs')
    running.child.kill('SIGINT')
    await running.says('no')
    // Each further signal is stronger; the last one kills.
    running.child.kill('SIGINT')
    running.child.kill('SIGTERM')
    expect(await running.finished).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('stopped') as string,
    })
  })

  test('stint dev without a worker file runs the database, and says which files it looked for', async () => {
    await rm(join(project, 'worker.ts'))
    const running = dev()
    expect(await running.says('Ctrl-C')).toMatch(/found none of worker\.ts.*src\/worker\.js/)
    // A command without DATABASE_URL uses that database too, and says so.
    const env = { ...process.env, DATABASE_URL: '' }
    expect(await finish(process.execPath, [cli, 'queue', 'list'], { cwd: project, env })).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /DATABASE_URL is not set: using the embedded PostgreSQL in .*\.stint/,
      ) as string,
    })
    running.child.kill('SIGTERM')
    expect(await running.finished).toMatchObject({ code: 0 })
    expect(await dev('missing.ts').finished).toMatchObject({ code: 2 })
  })

  test('stint dev with DATABASE_URL runs the worker on that database, and starts no other', async () => {
    const [db, empty] = await Promise.all([createTestDatabase(), createEmptyDatabase()])
    onTestFinished(async () => {
      await Promise.all([db.drop(), empty.drop()])
    })
    const folder = await mkdtemp(join(tmpdir(), 'stint-dev-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    await writeFile(join(folder, 'worker.ts'), fakeWorkerFile({ says: 'exported' }))
    const inFolder = (url: string) => ({ cwd: folder, env: { ...process.env, DATABASE_URL: url } })

    const running = start(process.execPath, [cli, 'dev'], inFolder(db.url))
    const output = await running.says('up exported')
    expect(output).toContain(`up exported json ${db.url}`)
    expect(output).toContain('Using the database of DATABASE_URL')
    running.child.kill('SIGINT')
    expect(await running.finished).toMatchObject({ code: 0 })

    const [unmigrated, status] = await Promise.all([
      finish(process.execPath, [cli, 'dev'], inFolder(empty.url)),
      finish(process.execPath, [cli, 'status'], inFolder('')),
    ])
    expect(unmigrated).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('run `stint migrate` first') as string,
    })
    // A read-only command does not start one either.
    expect(status).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/DATABASE_URL is not set.*stint dev/) as string,
    })
    expect(await readdir(folder)).toEqual(['package.json', 'worker.ts'])
  })
})
