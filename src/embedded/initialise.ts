import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Layout } from './layout.ts'
import { runProgram } from './program.ts'

export interface InitialiseOptions {
  layout: Layout
  log: string
  /** Whether the new files are on disk, and not only in the system's cache, before the server uses them. */
  sync: boolean
}

/**
 * Makes the data directory, if there is none, with user and database `app`. Not `stint`: PostgreSQL puts a user's
 * tables into the schema of its name where there is one, and an app's tables would land among ours.
 *
 * All of it happens in a folder named `init-…`, and the last step renames it: a folder called `data` is
 * complete, password included. A crash leaves an `init-…` folder behind. Only the keeper initialises, so no
 * process will rename that folder later: the next keeper removes it.
 */
export async function initialise({ layout, log, sync }: InitialiseOptions): Promise<void> {
  const { home } = layout
  const data = join(home, 'data')
  await removeLeftovers(home)
  if (existsSync(data)) return

  const work = join(home, `init-${randomUUID()}`)
  try {
    await mkdir(work, { mode: 0o700 })
    const draft = await makeDraft(work, { layout, log, sync })
    await rename(draft, data)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function makeDraft(work: string, { layout, log, sync }: InitialiseOptions): Promise<string> {
  const { user } = layout
  const draft = join(work, 'data')
  const password = join(work, 'password')
  await writeFile(password, randomBytes(24).toString('base64url'), { mode: 0o600 })
  if (user) for (const path of [work, password]) await chown(path, user.uid, user.gid)
  await runProgram({
    layout,
    log,
    program: 'initdb',
    args: [...initdbArgs, '--pwfile', password, '-D', draft],
  })
  await runProgram({
    layout,
    log,
    program: 'postgres',
    // -F: no fsync, because these files are synced as a whole below, or not at all.
    args: ['--single', '-F', '-c', 'log_checkpoints=off', '-D', draft, 'postgres'],
    input: 'create database app\n',
  })
  await rename(password, passwordPath(draft))
  if (sync) await runProgram({ layout, log, program: 'initdb', args: ['--sync-only', '-D', draft] })
  return draft
}

export async function readPassword(layout: Layout): Promise<string> {
  return await readFile(passwordPath(join(layout.home, 'data')), 'utf8')
}

const initdbArgs = [
  '--username=app',
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  // The same on every platform, independent of its locales: text is Unicode, and sorts by code point.
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--no-sync',
  '--no-instructions',
]

/** In the data directory, so that the two can neither be separated nor be from different initialisations. */
function passwordPath(data: string): string {
  return join(data, 'stint.password')
}

async function removeLeftovers(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    if (!name.startsWith('init-')) continue
    try {
      await rm(join(home, name), { recursive: true, force: true })
    } catch {
      // An initdb that has outlived its keeper still writes there. The next keeper removes the folder.
    }
  }
}
