import { once } from 'node:events'
import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { isAlive } from '../../src/embedded/processes.ts'
import { startEmbedded } from '../../src/embedded/start.ts'
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

test('the first start creates an embedded server that accepts a login', async () => {
  const server = await start({ dir: await makeFolder(), fsync: 'on' })
  expect(server).toMatchObject({ joined: false })
  const sql = `select current_user, current_database(), current_setting('server_version_num')::int / 10000 as major,
                      current_setting('listen_addresses') as addresses, current_setting('fsync') as fsync,
                      current_setting('server_encoding') as encoding`
  expect(await query(server.url, sql)).toEqual({
    current_user: 'app',
    current_database: 'app',
    major: 18,
    addresses: '127.0.0.1',
    fsync: 'on',
    encoding: 'UTF8',
  })
})

test('a login without the password is refused, and only the owner can read the password', async () => {
  const server = await start({ dir: await stoppedServer() })
  await expect(query(server.url.replace(/:[^:@]*@/, ':wrong@'), 'select 1')).rejects.toThrow('password')
  expect((await stat(join(server.dir, 'data', 'stint.password'))).mode & 0o777).toBe(0o600)
  for (const name of await readdir(server.dir)) {
    if (name.startsWith('keeper')) expect((await stat(join(server.dir, name))).mode & 0o777).toBe(0o600)
  }
})

test('only its owner can read the log of the embedded server, even if the file was readable before', async () => {
  const dir = await makeFolder()
  const server = await start({ dir })
  expect((await stat(join(dir, 'postgres.log'))).mode & 0o777).toBe(0o600)
  // As root, the server runs as another user, who has to pass through this folder.
  expect((await stat(dir)).mode & 0o777).toBe(isRoot ? 0o711 : 0o700)
  await server.release()
  await chmod(join(dir, 'postgres.log'), 0o644)
  await start({ dir })
  expect((await stat(join(dir, 'postgres.log'))).mode & 0o777).toBe(0o600)
})

test('a process that starts twice has one embedded server, which stops when both are released', async () => {
  const dir = await stoppedServer()
  const [first, second] = await Promise.all([start({ dir }), start({ dir })])
  const keeper = await keeperPid(dir)
  expect([first, second].filter((server) => server.joined)).toHaveLength(1)
  expect(second.pid).toBe(first.pid)
  await first.release()
  await first.release()
  expect(await query(second.url, 'select 1 as one')).toEqual({ one: 1 })
  await second.release()
  expect(isAlive(second.pid)).toBe(false)
  await untilGone(keeper)
  const again = await start({ dir })
  expect(again.joined).toBe(false)
  expect(again.url).toBe(first.url)
})

test('another process joins the embedded server, and its release leaves the server running', async () => {
  const server = await start({ dir: await stoppedServer() })
  const user = await startUser({ dir: server.dir })
  expect(user.server).toMatchObject({ joined: true, pid: server.pid, url: server.url })
  await user.release()
  expect(await query(server.url, 'select 1 as one')).toEqual({ one: 1 })
  await server.release()
  expect(isAlive(server.pid)).toBe(false)
})

test('processes in one project share one embedded server, even if all start at once in an empty folder', async () => {
  const project = dirname(await makeFolder())
  await writeFile(join(project, 'package.json'), '{}')
  const folders = ['', 'src', 'src/jobs', 'test'].map((name) => join(project, name))
  for (const folder of folders) await mkdir(folder, { recursive: true })
  const users = await Promise.all(folders.map((cwd) => startUser({}, { cwd })))

  const dir = join(project, '.stint', 'postgres')
  expect(new Set(users.map(({ server }) => server.dir))).toEqual(new Set([dir]))
  expect(new Set(users.map(({ server }) => server.url)).size).toBe(1)
  expect(new Set(users.map(({ server }) => server.pid)).size).toBe(1)
  expect(users.filter(({ server }) => !server.joined)).toHaveLength(1)
  // A process that lost the race removes its files, and may still be doing that.
  await eventually(async () => {
    const names = (await readdir(dir)).sort()
    expect(names).toEqual(['.gitignore', 'data', 'keeper-1.json', 'keeper.log', 'port', 'postgres.log'])
  })

  const keeper = await keeperPid(dir)
  await Promise.all(users.map((user) => user.release()))
  expect(users.filter(({ server }) => isAlive(server.pid))).toEqual([])
  await untilGone(keeper)
})

test('processes that start and release at the same time always get a working embedded server', async () => {
  const dir = await stoppedServer()
  const visit = async () => {
    const server = await startEmbedded({ dir, fsync: 'off' })
    expect(await query(server.url, 'select 1 as one')).toEqual({ one: 1 })
    await server.release()
  }
  const visitBriefly = async () => {
    await (await startUser({ dir })).release()
  }
  await Promise.all([visit().then(visit).then(visit), visitBriefly().then(visitBriefly), visitBriefly()])
})

test('the embedded server does not keep its process alive', async () => {
  const dir = await stoppedServer()
  const user = await startUser({ dir, idleMs: 0 })
  user.process.stdin?.destroy()
  await once(user.process, 'exit')
  await untilGone(user.server.pid)
})

test('settings reach the embedded server', async () => {
  const server = await start({
    dir: await stoppedServer(),
    settings: { log_statement: 'ddl', work_mem: '8MB' },
  })
  const sql = `select current_setting('log_statement') as log, current_setting('work_mem') as memory,
                      current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit`
  expect(await query(server.url, sql)).toEqual({ log: 'ddl', memory: '8MB', fsync: 'off', commit: 'off' })
})

test('an embedded server whose port is taken uses another port', async () => {
  const dir = await stoppedServer()
  const stranger = createServer().listen(0, '127.0.0.1')
  await once(stranger, 'listening')
  const { port } = stranger.address() as AddressInfo
  await writeFile(join(dir, 'port'), String(port))
  const server = await start({ dir })
  expect(server.port).not.toBe(port)
  expect(await query(server.url, 'select 1 as one')).toEqual({ one: 1 })
  stranger.close()
})

test('an embedded server that does not start reports why', async () => {
  const dir = await stoppedServer()
  const failing = start({ dir, settings: { shared_buffers: 'plenty' } })
  await expect(failing).rejects.toMatchObject({
    code: 'embedded-failed',
    message: expect.stringMatching(/invalid value for parameter "shared_buffers"/) as string,
  })
  await untilGone(await keeperPid(dir))
})

test('a folder that cannot be created causes an error that names it', async () => {
  const dir = await makeFolder()
  await writeFile(dir, 'a file')
  await expect(start({ dir })).rejects.toMatchObject({
    code: 'embedded-failed',
    message: expect.stringContaining(dir) as string,
  })
})

test('the embedded server refuses to start in production', async () => {
  vi.stubEnv('NODE_ENV', 'production')
  const starting = startEmbedded({ dir: await makeFolder() })
  vi.unstubAllEnvs()
  await expect(starting).rejects.toMatchObject({
    code: 'embedded-refused',
    message: expect.stringContaining('DATABASE_URL') as string,
  })
})
