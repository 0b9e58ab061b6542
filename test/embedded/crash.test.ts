import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { isAlive } from '../../src/embedded/processes.ts'
import {
  eventually,
  isRoot,
  keeperPid,
  makeFolder,
  stoppedServer,
  query,
  removeStoppedServer,
  start,
  startUser,
  untilGone,
} from './scene.ts'

afterAll(removeStoppedServer)

test('the embedded server outlives the process that started it, and the next start joins it', async () => {
  const dir = await stoppedServer()
  const user = await startUser({ dir, idleMs: 60_000 })
  await user.kill()
  const server = await start({ dir })
  expect(server).toMatchObject({ joined: true, pid: user.server.pid })
  expect(await query(server.url, 'select 1 as one')).toEqual({ one: 1 })
})

test('a Ctrl-C in the terminal of its user does not reach the embedded server', async () => {
  const dir = await stoppedServer()
  const user = await startUser({ dir, idleMs: 60_000 }, { detached: true })
  process.kill(-(user.process.pid ?? NaN), 'SIGINT')
  await untilGone(user.process.pid ?? 0)
  expect(await query(user.server.url, 'select 1 as one')).toEqual({ one: 1 })
})

test('the embedded server stops when its last user was killed and no other comes', async () => {
  const dir = await stoppedServer()
  const user = await startUser({ dir, idleMs: 100 })
  const keeper = await keeperPid(dir)
  await user.kill()
  await untilGone(user.server.pid)
  await untilGone(keeper)
  expect(existsSync(join(dir, 'data', 'postmaster.pid'))).toBe(false)
})

test('an embedded server that was killed together with all its users comes back with its data', async () => {
  const dir = await stoppedServer()
  const user = await startUser({ dir, fsync: 'on' })
  await query(user.server.url, 'create table kept as select 42 as answer')
  // Stopped first: otherwise it would start a new keeper, which would start the server again.
  user.process.kill('SIGSTOP')
  process.kill(await keeperPid(dir), 'SIGKILL')
  process.kill(user.server.pid, 'SIGKILL')
  await user.kill()
  const server = await start({ dir })
  expect(server.joined).toBe(false)
  expect(await query(server.url, 'select answer from kept')).toEqual({ answer: 42 })
})

test('an embedded server that was killed under a user comes back by itself, under the same URL', async () => {
  const server = await start({ dir: await stoppedServer() })
  process.kill(server.pid, 'SIGKILL')
  await eventually(() => query(server.url, 'select 1'))
  const next = await startUser({ dir: server.dir })
  expect(next.server).toMatchObject({ joined: true, url: server.url })
  await next.release()
  await server.release()
  expect(isAlive(next.server.pid)).toBe(false)
})

test('a killed keeper is replaced, and the embedded server goes on', async () => {
  const server = await start({ dir: await stoppedServer() })
  const keeper = await keeperPid(server.dir)
  process.kill(keeper, 'SIGKILL')
  await eventually(async () => {
    expect(await keeperPid(server.dir)).not.toBe(keeper)
  })
  expect(await query(server.url, 'select pg_postmaster_start_time() < now() as same')).toEqual({ same: true })
  expect(isAlive(server.pid)).toBe(true)
  await server.release()
  expect(isAlive(server.pid)).toBe(false)
})

test('a release after the keeper was killed still stops the embedded server', async () => {
  const server = await start({ dir: await stoppedServer() })
  process.kill(await keeperPid(server.dir), 'SIGKILL')
  await server.release()
  expect(isAlive(server.pid)).toBe(false)
})

test('an embedded server without keeper and users is adopted by the next start', async () => {
  const dir = await stoppedServer()
  const user = await startUser({ dir, idleMs: 60_000 })
  // The user first: otherwise it would start a new keeper.
  await user.kill()
  process.kill(await keeperPid(dir), 'SIGKILL')
  const server = await start({ dir })
  expect(server).toMatchObject({ joined: true, pid: user.server.pid })
  await server.release()
  expect(isAlive(server.pid)).toBe(false)
})

test('a start ignores a pid file whose pid belongs to another process now', async () => {
  const dir = await stoppedServer()
  const data = join(dir, 'data')
  const { uid, gid } = await stat(data)
  // Under the user of the server: otherwise PostgreSQL itself would see that the process is no server.
  const stranger = spawn('sleep', ['1000'], isRoot ? { uid, gid } : {})
  onTestFinished(() => void stranger.kill('SIGKILL'))
  const lines = [stranger.pid, data, 1_700_000_000, 5432, '', '127.0.0.1', '  1234567         1', 'ready   ']
  await writeFile(join(data, 'postmaster.pid'), `${lines.join('\n')}\n`)
  if (isRoot) await chown(join(data, 'postmaster.pid'), uid, gid)
  const server = await start({ dir })
  expect(server.joined).toBe(false)
  expect(await query(server.url, 'select 1 as one')).toEqual({ one: 1 })
  expect((await readdir(data)).filter((name) => name.startsWith('postmaster.pid'))).toEqual([
    'postmaster.pid',
  ])
  expect(isAlive(stranger.pid ?? 0)).toBe(true)
})

test('a start ignores a claim whose port belongs to another process now', async () => {
  const dir = await stoppedServer()
  const claim = { pid: process.pid, token: 'old', answer: 'old' }
  // It accepts connections and sends nothing, and the pid is alive.
  const stranger = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void stranger.close())
  await once(stranger, 'listening')
  const { port } = stranger.address() as AddressInfo
  await writeFile(join(dir, 'keeper-1000.json'), JSON.stringify({ ...claim, port }))
  const server = await start({ dir })
  expect(server.joined).toBe(false)
  expect((await readdir(dir)).filter((name) => name.startsWith('keeper-'))).toEqual(['keeper-1001.json'])
})

test('a start succeeds although its keeper is killed while it initialises', async () => {
  const { dir, starting, keeper } = await caughtInitialising()
  expect(await readdir(dir)).not.toContain('init-before')
  process.kill(keeper, 'SIGKILL')
  const server = await starting
  expect(await query(server.url, 'select current_database() as name')).toEqual({ name: 'app' })
})

/** Stops the keeper of a start in the middle of initialising; tries again if the keeper was faster. */
async function caughtInitialising(): Promise<{
  dir: string
  starting: ReturnType<typeof start>
  keeper: number
}> {
  for (;;) {
    const dir = await makeFolder()
    // The remains of an earlier keeper that was killed.
    await mkdir(join(dir, 'init-before', 'data'), { recursive: true })
    await writeFile(join(dir, 'init-before', 'data', 'PG_VERSION'), '18')
    const starting = start({ dir })
    await eventually(async () => {
      const names = await readdir(dir)
      if (names.includes('data')) return
      const [work] = names.filter((name) => name.startsWith('init-') && name !== 'init-before')
      expect(await readdir(join(dir, work ?? 'none', 'data'))).toContain('base')
    })
    const keeper = await keeperPid(dir)
    process.kill(keeper, 'SIGSTOP')
    if (!(await readdir(dir)).includes('data')) return { dir, starting, keeper }
    process.kill(keeper, 'SIGCONT')
    await starting
  }
}
