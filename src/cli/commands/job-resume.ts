import { actOn, checkedIds } from '../act.ts'
import { asTyped } from '../actor.ts'
import { databaseHelp, databaseOptions, helpOption, parse } from '../arguments.ts'
import { withStint } from '../connect.ts'
import { outputHelp, outputOf, outputOption, say } from '../output/output.ts'

const resumeHelp = `stint job resume ID…    let jobs run that are parked: their handlers ask for other steps than those that are recorded

A parked job is tried again by itself: after 1, 5 and 15 minutes, then every hour. stint job steps ID shows what it asked for.

  --accept              go on with the new code: recorded steps that it does not ask for are ignored
  --reason TEXT         why, for the audit
  --dry-run             show what would be done, without doing it
${outputHelp}
${databaseHelp}

Examples
  stint job resume 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --reason "v215 is deployed"
  stint job resume 01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4 --accept --dry-run
  stint job list --where waiting:parked -o id | xargs stint job resume`

export async function resume(args: readonly string[]): Promise<number> {
  const { values, positionals: ids } = parse(args, {
    accept: { type: 'boolean', default: false },
    reason: { type: 'string' },
    'dry-run': { type: 'boolean', default: false },
    ...outputOption,
    ...databaseOptions,
    ...helpOption,
  })
  if (values.help) return say(resumeHelp)
  const output = outputOf(values.output)
  const { accept, reason, 'dry-run': isDryRun } = values
  return withStint(values, async (stint) => {
    const parked = new Set<string>()
    if (isDryRun) for (const id of checkedIds(ids)) if ((await stint.parked(id)) !== undefined) parked.add(id)
    return actOn(stint, {
      ids,
      output,
      isDryRun,
      done: 'resumed',
      act: (id) => asTyped(stint).resume(id, { accept, reason }),
      whyNot: ({ id, state }) => (parked.has(id) ? undefined : `is ${state} and not parked`),
    })
  })
}
