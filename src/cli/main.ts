#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { isStintError } from '../core/errors.ts'
import { dev } from './commands/dev.ts'
import { migrate } from './commands/migrate.ts'
import { say, UsageError } from './output.ts'

const help = `Stint: background jobs on PostgreSQL

  stint migrate             create or upgrade the tables
  stint migrate status      what is applied and what is not
  stint dev                 start the embedded PostgreSQL, migrate, stay until Ctrl-C

  stint <command> --help    options and examples
  stint --version

The database is DATABASE_URL, or --database-url; without one, outside production, the embedded PostgreSQL.
Exit codes: 0 done, 1 failed, 2 called wrongly.`

const commands = new Map([
  ['migrate', migrate],
  ['dev', dev],
])

/** Runs one command line and gives its exit code. */
async function main([name, ...rest]: readonly string[]): Promise<number> {
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') return say(help)
  if (name === '--version' || name === '-v') return say(ownVersion())
  const command = commands.get(name)
  try {
    if (command === undefined)
      throw new UsageError(`Unknown command '${name}'. Known: ${[...commands.keys()].join(', ')}.`)
    return await command(rest)
  } catch (error) {
    if (error instanceof UsageError) {
      console.error(`stint: ${error.message}\nSee stint --help.`)
      return 2
    }
    console.error(`stint: ${isStintError(error) ? `${error.message} (${error.code})` : describe(error)}`)
    return 1
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

function ownVersion(): string {
  const path = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
}

process.exitCode = await main(process.argv.slice(2))
