import { readdirSync, watch } from 'node:fs'
import type { Dirent, FSWatcher } from 'node:fs'
import { join, relative } from 'node:path'
import { afterReading } from '../../db/standstill.ts'

const ignored = new Set(['node_modules', '.git', '.stint', 'dist'])
/** The source files of a worker. Not every .json: a worker that writes one would restart for ever. */
const sources = /\.[cm]?[jt]sx?$|^(package|tsconfig.*)\.json$|^\.env/
/** A save causes several events, and a checkout many: they count as one change. */
const settleMs = 150

/**
 * Calls back with the first source file, relative to `root`, of each burst of changes below it.
 *
 * One watcher per folder: Node's recursive watcher includes node_modules, which on Linux needs a watch for each of its
 * thousands of folders.
 */
export function watchSources(root: string, onChange: (file: string) => void): () => void {
  const watchers = new Map<string, FSWatcher>()
  let callOff: (() => void) | undefined
  let first: string | undefined

  const changed = (path: string): void => {
    first ??= relative(root, path)
    callOff?.()
    callOff = afterReading(settleMs, () => {
      const file = first ?? ''
      first = undefined
      onChange(file)
    })
  }
  const forget = (folder: string): void => {
    watchers.get(folder)?.close()
    watchers.delete(folder)
  }
  const follow = (folder: string, isNew: boolean): void => {
    if (watchers.has(folder)) return
    try {
      const watcher = watch(folder, (_event, name) => {
        if (name === null || ignored.has(name)) return
        const path = join(folder, name)
        if (sources.test(name)) changed(path)
        else if (isFolder(path)) follow(path, true)
      })
      watcher.on('error', () => {
        forget(folder)
      })
      watchers.set(folder, watcher)
    } catch {
      // The folder was deleted since it was listed, or this process may not read it.
      return
    }
    for (const entry of entriesOf(folder)) {
      if (ignored.has(entry.name)) continue
      const path = join(folder, entry.name)
      if (entry.isDirectory()) follow(path, isNew)
      // The files of a new folder may be older than its watcher, so they count as changed.
      else if (isNew && sources.test(entry.name)) changed(path)
    }
  }
  follow(root, false)
  return () => {
    callOff?.()
    for (const folder of [...watchers.keys()]) forget(folder)
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

function isFolder(path: string): boolean {
  try {
    readdirSync(path)
    return true
  } catch {
    return false
  }
}
