import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { chooseLayout } from '../../src/embedded/layout.ts'
import { isAlive } from '../../src/embedded/processes.ts'
import { copyUserScript, isRoot, makeFolder, makePackage, query, start, startUser } from './scene.ts'

const nobodyUid = 65_534

test('as root, the embedded server runs as another user even in a folder that user cannot enter', async () => {
  const dir = await makeFolder()
  await chmod(dirname(dir), 0o700)
  const server = await start({ dir })
  await query(server.url, 'create table kept as select 42 as answer')
  const home = isRoot ? (await readFile(join(dir, 'location'), 'utf8')).trim() : dir
  expect(home.startsWith('/var/lib/stint-embedded/data/')).toBe(isRoot)
  expect((await stat(join(home, 'data'))).uid === process.getuid?.()).toBe(!isRoot)
  expect(existsSync(join(dir, 'data'))).toBe(!isRoot)

  await server.release()
  expect(isAlive(server.pid)).toBe(false)
  const again = await start({ dir })
  expect(await query(again.url, 'select answer from kept')).toEqual({ answer: 42 })
})

test('for an ordinary user, the embedded server keeps everything in the folder', async () => {
  const dir = await makeFolder()
  if (isRoot) await chown(dirname(dir), nobodyUid, nobodyUid)
  await chmod(dirname(dir), 0o700)
  const script = await copyUserScript()
  const user = await startUser(
    { dir },
    isRoot ? { script, uid: nobodyUid, gid: nobodyUid, cwd: '/' } : { script },
  )
  expect(await query(user.server.url, 'select 1 as one')).toEqual({ one: 1 })
  expect((await stat(join(dir, 'data'))).uid).toBe(isRoot ? nobodyUid : process.getuid?.())
  expect(existsSync(join(dir, 'location'))).toBe(false)
  await user.release()
  expect(isAlive(user.server.pid)).toBe(false)
})

test('a package that the user of the server cannot read is copied', async () => {
  const native = await makePackage()
  const dir = await makeFolder()
  await mkdir(dir)
  const version = `test-${randomUUID()}`
  const copy = join('/var/lib/stint-embedded', version)
  onTestFinished(() => rm(copy, { recursive: true, force: true }))
  const config = { dir, native, version, fsync: 'off', settings: {}, idleMs: 0 } as const

  await chmod(dirname(native), 0o700)
  expect((await chooseLayout(config)).bin).toBe(join(isRoot ? copy : native, 'bin'))
  expect(existsSync(copy)).toBe(isRoot)
  await chmod(dirname(native), 0o755)
  expect((await chooseLayout(config)).bin).toBe(join(native, 'bin'))
})
