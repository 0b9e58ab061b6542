import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { isAbandoned, parsePidFile, readPidFile, removeStalePidFile } from '../../src/embedded/pid-file.ts'
import { isPostmasterOf } from '../../src/embedded/processes.ts'

const text = '4711\n/project/data\n1700000000\n5433\n\n127.0.0.1\n  1234567         1\nready   \n'

let data: string
beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), 'stint-pid-file-'))
  onTestFinished(() => rm(data, { recursive: true }))
})

test('the pid file gives the pid, the port and whether the server is ready', () => {
  expect(parsePidFile(text)).toEqual({ text, pid: 4711, port: 5433, isReady: true })
  expect(parsePidFile(text.replace('ready   ', 'starting'))).toMatchObject({ pid: 4711, isReady: false })
  expect(parsePidFile('')).toMatchObject({ pid: undefined, port: undefined, isReady: false })
})

test('a stale pid file is removed', async () => {
  await writeFile(join(data, 'postmaster.pid'), text)
  await removeStalePidFile(data, parsePidFile(text))
  expect(await readPidFile(data)).toBeUndefined()
  await removeStalePidFile(data, parsePidFile(text))
  expect(await readdir(data)).toEqual([])
})

test('the pid file of a server that has started in the meantime stays', async () => {
  await writeFile(join(data, 'postmaster.pid'), text.replace('4711', '4712'))
  await removeStalePidFile(data, parsePidFile(text))
  expect(await readFile(join(data, 'postmaster.pid'), 'utf8')).toContain('4712')
  expect(await readdir(data)).toEqual(['postmaster.pid'])
})

test('an empty pid file counts as abandoned only when it is old', async () => {
  expect(await isAbandoned(data)).toBe(false)
  await writeFile(join(data, 'postmaster.pid'), '')
  expect(await isAbandoned(data)).toBe(false)
  await utimes(join(data, 'postmaster.pid'), 1, 1)
  expect(await isAbandoned(data)).toBe(true)
})

test('a process that is not PostgreSQL is not the server, even if the pid file names it', async () => {
  expect(await isPostmasterOf(process.pid, data)).toBe(false)
})
