import { mkdir, open, readFile, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { randomUUID } from 'node:crypto'
import { StintError } from '../../core/errors.ts'
import type { BlobStore } from './store.ts'

export interface FileBlobStoreOptions {
  /** The folder, made when it is first needed. All producers and workers must see the same one. */
  dir: string
}

/** Blobs as files below one folder: for one machine, or a shared file system. */
export function fileBlobStore({ dir }: FileBlobStoreOptions): BlobStore {
  const pathOf = (key: string): string => {
    if (isKey(key)) return join(dir, key)
    throw new StintError('invalid-option', `Expected a blob key of letters, digits, - and /, got '${key}'.`)
  }
  return {
    put: (key, bytes) => writeWhole(pathOf(key), bytes),
    get: async (key) => {
      try {
        return await readFile(pathOf(key))
      } catch (error) {
        if (isMissing(error)) return undefined
        throw error
      }
    },
    // Nothing was ever stored under an invalid key.
    delete: (key) => (isKey(key) ? rm(pathOf(key), { force: true }) : Promise.resolve()),
    list: () => keysBelow(dir),
  }
}

function isKey(key: string): boolean {
  return key.length <= 200 && /^[A-Za-z0-9-]+(\/[A-Za-z0-9-]+)*$/.test(key)
}

/** The file gets its own name only when it is complete and on disk: a crash leaves a `.part`, which no key names. */
async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const part = `${path}.${randomUUID()}.part`
  const file = await open(part, 'wx', 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(part, path)
  await syncFolder(dirname(path))
}

/** A new name is durable once its folder is. Windows cannot open a folder for that, and does it by itself. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function* keysBelow(dir: string): AsyncGenerator<string> {
  let entries
  try {
    entries = await readdir(dir, { withFileTypes: true, recursive: true })
  } catch (error) {
    if (isMissing(error)) return
    throw error
  }
  for (const entry of entries) {
    if (!entry.isFile() || entry.name.endsWith('.part')) continue
    yield relative(dir, join(entry.parentPath, entry.name)).split(sep).join('/')
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
