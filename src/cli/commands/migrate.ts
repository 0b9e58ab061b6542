import type { Stint } from '../../client/stint.ts'
import { choose, databaseHelp, databaseOptions, helpOption, noMore, parse } from '../arguments.ts'
import { withStint } from '../connect.ts'
import { say, table } from '../output/output.ts'

const help = `stint migrate [up]      create or upgrade the tables; safe to run from many places at once
stint migrate status    list applied and pending migrations

  --roles               also create the five Postgres roles and their grants (needs CREATEROLE)
${databaseHelp}

Examples
  DATABASE_URL=postgres://… stint migrate
  stint migrate --roles --schema work
  stint migrate status`

const options = {
  roles: { type: 'boolean', default: false },
  ...databaseOptions,
  ...helpOption,
} as const

export async function migrate(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, options)
  if (values.help) return say(help)
  const [word = 'up', ...more] = positionals
  const verb = choose('command', word, ['up', 'status'])
  noMore(more)
  return withStint(
    values,
    async (stint) => say(verb === 'up' ? await up(stint, values.roles) : await status(stint)),
    { mayCreate: verb === 'up' },
  )
}

async function up(stint: Stint, roles: boolean): Promise<string> {
  const { version, applied } = await stint.migrate({ roles })
  const lines = applied.map((name) => `applied ${name}`)
  if (roles) lines.push('roles and grants are in place')
  return [
    ...lines,
    applied.length === 0 ? `nothing to do: version ${version}` : `now at version ${version}`,
  ].join('\n')
}

async function status(stint: Stint): Promise<string> {
  const { applied, pending } = await stint.migrationStatus()
  return table(
    ['MIGRATION', 'APPLIED'],
    [
      ...applied.map(({ name, appliedAt }) => [name, appliedAt.toISOString()]),
      ...pending.map((name) => [name, 'not yet']),
    ],
  )
}
