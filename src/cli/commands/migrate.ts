import { Stint } from '../../client/stint.ts'
import { parse, say, table, UsageError } from '../output.ts'

const help = `stint migrate [up]      create or upgrade the tables; safe to run from many places at once
stint migrate status    what is applied and what is not

  --roles               also make the five Postgres roles and their grants (needs CREATEROLE)
  --schema NAME         the Postgres schema (default: stint)
  --database-url URL    instead of DATABASE_URL

Examples
  DATABASE_URL=postgres://… stint migrate
  stint migrate --roles --schema work
  stint migrate status`

const options = {
  roles: { type: 'boolean', default: false },
  schema: { type: 'string' },
  'database-url': { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const

export async function migrate(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, options)
  if (values.help) return say(help)
  const [verb = 'up', ...more] = positionals
  if (!['up', 'status'].includes(verb) || more.length > 0)
    throw new UsageError(`Unknown: stint migrate ${positionals.join(' ')}.`)
  const stint = new Stint({ connection: values['database-url'], schema: values.schema })
  try {
    return say(verb === 'up' ? await up(stint, values.roles) : await status(stint))
  } finally {
    await stint.close()
  }
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
