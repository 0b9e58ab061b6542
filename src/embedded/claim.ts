/*
 * Which process is the keeper of a folder: an election without locks, since Node has no flock().
 *
 * Keepers come in generations. Generation n is the file `keeper-<n>.json`, and the newest generation is the
 * keeper, or was. A process that finds the newest one dead publishes the next one; link() lets exactly one
 * process succeed, and the file appears with all its content.
 *
 * Invariants:
 * - A dead keeper never comes back. A keeper listens before it publishes and until its process ends, so that once it
 *   no longer answers at its address, it never will again (see `dialKeeper`).
 * - The newest file is never removed, not even by a keeper that ends in order. So a process which slept
 *   between looking and publishing, and thereby revived a number long gone, finds a newer file and yields.
 * - Only the keeper of a newer generation removes older files.
 *
 * A crash leaves behind the file of a dead generation, and maybe a `.tmp` file: the next keeper removes both.
 */
import { randomUUID } from 'node:crypto'
import { link, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from './errno.ts'

/** Where a keeper listens, and how both sides show that they have read its file (which is mode 0600). */
export interface KeeperAddress {
  pid: number
  port: number
  /** What a holder sends first. */
  token: string
  /** The keeper's reply to the token; any other program on the port would not know it. */
  answer: string
}

export interface Claim {
  /** 0: there never was a keeper. */
  generation: number
  /** Undefined when the file is unreadable, which only a crash of the whole machine can make it. */
  address: KeeperAddress | undefined
}

/** The newest generation, whether it lives or not. */
export async function newestClaim(dir: string): Promise<Claim> {
  for (;;) {
    const generation = await newestGeneration(dir)
    if (generation === 0) return { generation, address: undefined }
    try {
      return { generation, address: parseAddress(await readFile(claimPath(dir, generation), 'utf8')) }
    } catch (error) {
      // Removed since it was listed, so there is a newer one.
      if (!hasCode(error, 'ENOENT')) throw error
    }
  }
}

/** Makes `address` the keeper of the folder; false when another one lives. */
export async function claimFolder(
  dir: string,
  address: KeeperAddress,
  isDead: (other: KeeperAddress) => Promise<boolean>,
): Promise<boolean> {
  for (;;) {
    const newest = await newestClaim(dir)
    if (newest.address && !(await isDead(newest.address))) return false
    const generation = newest.generation + 1
    if (!(await publish(dir, generation, address))) continue
    if ((await newestGeneration(dir)) === generation) {
      await removeOlder(dir, generation)
      return true
    }
    await rm(claimPath(dir, generation), { force: true })
  }
}

async function publish(dir: string, generation: number, address: KeeperAddress): Promise<boolean> {
  const draft = join(dir, `keeper-${randomUUID()}.tmp`)
  await writeFile(draft, JSON.stringify(address), { mode: 0o600 })
  try {
    await link(draft, claimPath(dir, generation))
    return true
  } catch (error) {
    // ENOENT: the keeper of a newer generation has tidied our draft away.
    if (hasCode(error, 'EEXIST', 'ENOENT')) return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

async function removeOlder(dir: string, current: number): Promise<void> {
  for (const name of await readdir(dir)) {
    const generation = generationOf(name)
    const isOld = generation === undefined ? /^keeper-.*\.tmp$/.test(name) : generation < current
    if (isOld) await rm(join(dir, name), { force: true })
  }
}

async function newestGeneration(dir: string): Promise<number> {
  const names = await readdir(dir)
  return Math.max(0, ...names.map((name) => generationOf(name) ?? 0))
}

function generationOf(name: string): number | undefined {
  const digits = /^keeper-(\d+)\.json$/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

function claimPath(dir: string, generation: number): string {
  return join(dir, `keeper-${generation}.json`)
}

function parseAddress(text: string): KeeperAddress | undefined {
  try {
    return JSON.parse(text) as KeeperAddress
  } catch {
    return undefined
  }
}
