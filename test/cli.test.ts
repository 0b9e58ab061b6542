import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEmptyDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'
import { finish, start } from './support/processes.ts'
import type { Finished, Started } from './support/processes.ts'

const cli = join(import.meta.dirname, '../dist/cli/main.js')

let db: TestDatabase
let project: string
beforeAll(async () => {
  db = await createEmptyDatabase()
  project = await mkdtemp(join(tmpdir(), 'stint-cli-'))
  await chmod(project, 0o755)
  await writeFile(join(project, 'package.json'), '{}')
})
afterAll(async () => {
  await db.drop()
  await rm(project, { recursive: true, force: true })
})

function stint(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Finished> {
  return finish(process.execPath, [cli, ...args], {
    env: { ...process.env, DATABASE_URL: db.url, ...env },
    cwd: project,
  })
}

describe('stint migrate', () => {
  test('stint migrate says what is to do, does it, and then that nothing is to do', async () => {
    expect(await stint(['migrate', 'status'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/0001_job_tables\.sql +not yet/) as string,
    })
    expect(await stint(['migrate'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/applied .*0001_job_tables\.sql[^]*now at version/) as string,
    })
    expect(await stint(['migrate', 'up'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('nothing to do') as string,
    })
    expect(await stint(['migrate', 'status'])).toMatchObject({
      code: 0,
      stdout: expect.not.stringContaining('not yet') as string,
    })
  })

  test('stint migrate makes a schema of another name, with its roles', async () => {
    const result = await stint(['migrate', '--schema', 'cli_work', '--roles'])
    expect(result).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('roles and grants are in place') as string,
    })
    expect(await db.query(`select 1 from pg_roles where rolname = 'cli_work_producer'`)).toHaveLength(1)
  })

  test('stint migrate without a database in production says so and fails', async () => {
    const result = await stint(['migrate'], { DATABASE_URL: '', NODE_ENV: 'production' })
    expect(result).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/set DATABASE_URL.*\(no-database\)/s) as string,
    })
  })
})

describe('stint', () => {
  test('stint shows help and its version, and refuses unknown commands with exit code 2', async () => {
    expect(await stint([])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('stint migrate') as string,
    })
    expect(await stint(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string,
    })
    expect(await stint(['migrate', '--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Examples') as string,
    })
    expect(await stint(['frobnicate'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Unknown command') as string,
    })
    expect(await stint(['migrate', '--rolls'])).toMatchObject({ code: 2 })
    expect(await stint(['migrate', 'down'])).toMatchObject({ code: 2 })
  })
})

describe('stint dev', () => {
  function dev(): Started {
    return start(process.execPath, [cli, 'dev'], { cwd: project, env: { ...process.env, DATABASE_URL: '' } })
  }

  test('stint dev starts a server that a second one joins, and the last one stops it', async () => {
    const first = dev()
    const output = await first.says('Ctrl-C')
    const [url = ''] = /postgres:\S+/.exec(output) ?? []
    const second = dev()
    expect(await second.says('Ctrl-C')).toContain(url)

    first.child.kill('SIGINT')
    expect(await first.finished).toMatchObject({ code: 0 })
    const client = new pg.Client(url)
    await client.connect()
    expect((await client.query(`select count(*)::integer as jobs from stint.jobs`)).rows).toEqual([
      { jobs: 0 },
    ])
    await client.end()

    second.child.kill('SIGTERM')
    expect(await second.finished).toMatchObject({ code: 0 })
    await expect(new pg.Client(url).connect()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})
