import { join } from 'node:path'
import { finish } from './processes.ts'
import type { Finished } from './processes.ts'

const main = join(import.meta.dirname, '../../dist/cli/main.js')

/** A command line as somebody would type it into a POSIX shell, quotes and all: `stint` is the built one. */
export function typed(line: string, databaseUrl: string): Promise<Finished> {
  const script = `stint() { "${process.execPath}" "${main}" "$@"; }\n${line}\n`
  return finish('/bin/sh', ['-c', script], {
    env: { ...process.env, DATABASE_URL: databaseUrl, NO_COLOR: '1' },
  })
}
