import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fakeWorkerFile } from './support/fake-worker.ts'
import { finish, start } from './support/processes.ts'
import type { Finished, Started } from './support/processes.ts'

const cli = join(import.meta.dirname, '../dist/cli/main.js')

let project: string
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'stint-work-'))
})
afterAll(() => rm(project, { recursive: true, force: true }))

async function write(file: string, text: string): Promise<string> {
  const path = join(project, file)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  return path
}

function work(...args: string[]): Started {
  return start(process.execPath, [cli, 'work', ...args], { cwd: project })
}

function workToEnd(...args: string[]): Promise<Finished> {
  return work(...args).finished
}

const helper = `export const says: string = 'helped'`

describe('stint work', () => {
  test.each([
    ['TypeScript in an ESM package', 'esm/worker.ts', '{"type":"module"}'],
    ['TypeScript in a CommonJS package', 'cjs/worker.ts', '{}'],
    ['.mts', 'mts/worker.mts', '{}'],
    ['.cts', 'cts/worker.cts', '{"type":"module"}'],
  ])('stint work runs %s, and SIGTERM stops it with exit code 0', async (_what, file, manifest) => {
    await write(join(dirname(file), 'package.json'), manifest)
    await write(file, fakeWorkerFile())
    const running = work(file)
    await running.says('up one json')
    running.child.kill('SIGTERM')
    expect(await running.finished).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('down one') as string,
      stderr: '',
    })
  })

  test.each([
    ['by default, in CommonJS', 'plain/default.cjs', 'module.exports = worker'],
    ['by another name, in ESM', 'plain/named.mjs', 'export { worker as mails }'],
    ['by default, in ESM', 'plain/default.mjs', 'export default worker'],
    [
      'with TypeScript beside it',
      'plain/mixed.mjs',
      `export { worker }\nimport { says } from './helper.ts'\nconsole.log(says)`,
    ],
  ])('stint work runs JavaScript that exports its worker %s', async (_what, file, exporting) => {
    await write('plain/helper.ts', helper)
    await write(
      file,
      `const worker = { [Symbol.for('stint.worker')]: true, stop: async () => {}, run: async () => { console.log('ran') } }\n${exporting}`,
    )
    expect(await workToEnd(file)).toMatchObject({ code: 0, stdout: expect.stringContaining('ran') as string })
  })

  test('stint work runs all workers of a file, each once', async () => {
    const file = await write('several.ts', `${fakeWorkerFile({ name: 'a', says: 'a' })}\nexport default a`)
    await write('both.ts', `export { a } from './several.ts'\nexport { worker } from './second.ts'`)
    await write('second.ts', fakeWorkerFile({ says: 'second' }))
    const running = work('both.ts')
    await running.says('up a')
    await running.says('up second')
    running.child.kill('SIGINT')
    const { code, stdout } = await running.finished
    expect(code).toBe(0)
    expect(stdout.match(/up a/g)).toHaveLength(1)
    expect(file).toContain('several.ts')
  })

  test('stint work stops all workers and fails when one of them gives up', async () => {
    await write(
      'failing.ts',
      `${fakeWorkerFile({ says: 'good' })}
      export const bad = { [Symbol.for('stint.worker')]: true, stop: async () => {}, run: async () => { throw new Error('gave up') } }`,
    )
    const { code, stdout, stderr } = await workToEnd('failing.ts')
    expect({ code, stdout: stdout.includes('down good'), stderr: stderr.includes('gave up') }).toEqual({
      code: 1,
      stdout: true,
      stderr: true,
    })
  })

  test('stint work ends although the file left something open', async () => {
    await write(
      'open.mjs',
      `setInterval(() => {}, 60_000)
      export const worker = { [Symbol.for('stint.worker')]: true, stop: async () => {}, run: async () => {} }`,
    )
    expect(await workToEnd('open.mjs')).toMatchObject({ code: 0 })
  })

  test('stint work on a file that runs its worker itself ends with that worker', async () => {
    await write('self.ts', `${fakeWorkerFile()}\nawait worker.run()`)
    await write('package.json', '{"type":"module"}')
    const running = work('self.ts')
    await running.says('up one')
    running.child.kill('SIGTERM')
    const { code, stdout } = await running.finished
    expect(code).toBe(0)
    expect(stdout.match(/up one/g)).toHaveLength(1)
  })

  test('stint work passes the log format to the worker', async () => {
    await write('log.ts', fakeWorkerFile())
    const running = work('log.ts', '--log-format', 'pretty')
    await running.says('up one pretty')
    running.child.kill('SIGTERM')
    await running.finished
    expect(await workToEnd('log.ts', '--log-format', 'prety')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean pretty?') as string,
    })
  })

  test('stint work on a file without a worker shows how to export one', async () => {
    await write('none.ts', 'export const answer: number = 42')
    const { code, stderr } = await workToEnd('none.ts')
    expect(code).toBe(2)
    expect(stderr).toContain('exports no worker')
    expect(stderr).toContain(`export const worker = new Worker(`)
  })

  test('stint work on a broken or missing file says so', async () => {
    await write('broken.ts', 'export const worker = {')
    expect(await workToEnd('broken.ts')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('broken.ts') as string,
    })
    await write('throwing.ts', `throw new Error('no config')`)
    expect(await workToEnd('throwing.ts')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no config') as string,
    })
    expect(await workToEnd('missing.ts')).toMatchObject({ code: 2 })
    expect(await finish(process.execPath, [cli, 'work'])).toMatchObject({ code: 2 })
    expect(await workToEnd('none.ts', 'more.ts')).toMatchObject({ code: 2 })
  })
})
