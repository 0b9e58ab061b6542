/*
 * Where the server's files are, and as which user it runs.
 *
 * For an ordinary user that is simple: the binaries where npm put them, the data in the folder. PostgreSQL
 * refuses to run as root, though. Under root it runs as the user `postgres`, or `nobody`, and that user may
 * be unable to reach a project below /root or in a temporary folder of mode 0700. Then the binaries are
 * copied to /var/lib/stint-embedded/<version>, and the data is at /var/lib/stint-embedded/data/<hash of the
 * folder's path>; the file `location` in the folder says so. Only the data moves: the keeper, which is root,
 * keeps claims and logs in the folder itself.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { hasCode } from './errno.ts'
import type { KeeperConfig } from './messages.ts'
import { copyNative, makeRunnable } from './native.ts'
import { isPostmasterOf } from './processes.ts'
import { readPidFile } from './pid-file.ts'

const rootHome = '/var/lib/stint-embedded'

export interface User {
  uid: number
  gid: number
}

export interface Layout {
  /** Folder of the programs. */
  bin: string
  /** Folder in which `data` is, or will be. */
  home: string
  /** The user that PostgreSQL runs as; undefined: the user of this process. */
  user: User | undefined
}

export async function chooseLayout({ dir, native, version }: KeeperConfig): Promise<Layout> {
  if (process.getuid?.() !== 0) {
    const bin = await findPrograms(native, { copy: join(dir, 'native', version), user: undefined })
    return { bin, home: dir, user: undefined }
  }
  const hidden = join(rootHome, 'data', createHash('sha256').update(dir).digest('hex'))
  const user = await chooseUser([join(dir, 'data'), join(hidden, 'data')])
  const isHidden = (await readNote(dir)) === hidden || !(await canEnter(user, dir))
  if (isHidden) await prepareHidden(dir, hidden)
  const bin = await findPrograms(native, { copy: join(rootHome, version), user })
  return { bin, home: isHidden ? hidden : dir, user }
}

interface ProgramsRequest {
  /** Where the copy is, if there has to be one. */
  copy: string
  user: User | undefined
}

async function findPrograms(native: string, { copy, user }: ProgramsRequest): Promise<string> {
  if (await isRunnable(native, user)) return join(native, 'bin')
  await mkdir(dirname(copy), { recursive: true })
  await copyNative(native, copy)
  return join(copy, 'bin')
}

async function isRunnable(native: string, user: User | undefined): Promise<boolean> {
  try {
    await makeRunnable(native)
  } catch (error) {
    // Packages may be installed read-only, or by another user.
    if (hasCode(error, 'EACCES', 'EPERM', 'EROFS')) return false
    throw error
  }
  return user === undefined || canUse(user, native)
}

/** The owner of existing data stays its user, so that a `postgres` account added later does not lock us out. */
async function chooseUser(dataDirs: string[]): Promise<User> {
  for (const path of dataDirs) {
    const owner = existsSync(path) ? await stat(path) : undefined
    if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  }
  const accounts = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  for (const wanted of ['postgres', 'nobody']) {
    const account = accounts.find(([name]) => name === wanted)
    if (account) return { uid: Number(account[2]), gid: Number(account[3]) }
  }
  throw new Error('PostgreSQL does not run as root, and there is no user `postgres` or `nobody` to run it as')
}

async function readNote(dir: string): Promise<string | undefined> {
  try {
    return (await readFile(join(dir, 'location'), 'utf8')).trim()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

async function prepareHidden(dir: string, hidden: string): Promise<void> {
  await removeForgotten()
  await mkdir(hidden, { recursive: true })
  await writeFile(join(hidden, 'origin'), `${dir}\n`)
  await writeFile(join(dir, 'location'), `${hidden}\n`)
}

/**
 * Removes the data of temporary folders that are gone: every CI run would leave some. The data of other folders is
 * kept, because a folder may also be missing while its disk is not mounted.
 */
async function removeForgotten(): Promise<void> {
  const parent = join(rootHome, 'data')
  if (!existsSync(parent)) return
  for (const name of await readdir(parent)) {
    const home = join(parent, name)
    try {
      const origin = (await readFile(join(home, 'origin'), 'utf8')).trim()
      if (!origin.startsWith(tmpdir() + sep) || existsSync(origin)) continue
      const pid = (await readPidFile(join(home, 'data')))?.pid
      if (pid !== undefined && (await isPostmasterOf(pid, join(home, 'data')))) continue
      await rm(home, { recursive: true, force: true })
    } catch {
      // Another process tidies up as well, or is just making this one.
    }
  }
}

async function canUse(user: User, native: string): Promise<boolean> {
  const needed = ['bin/initdb', 'bin/postgres', 'lib', 'share/postgresql'].map((path) => join(native, path))
  for (const path of needed) {
    if (!(await canEnter(user, dirname(path))) || !(await hasBits(user, path, 0o5))) return false
  }
  return true
}

/** Whether the user may pass through every folder down to this one. */
async function canEnter(user: User, folder: string): Promise<boolean> {
  if (!(await hasBits(user, folder, 0o1))) return false
  const parent = dirname(folder)
  return parent === folder || canEnter(user, parent)
}

async function hasBits({ uid, gid }: User, path: string, bits: number): Promise<boolean> {
  const found = await stat(path)
  const shift = found.uid === uid ? 6 : found.gid === gid ? 3 : 0
  return ((found.mode >> shift) & bits) === bits
}
