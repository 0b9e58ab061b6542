import { parseArgs } from 'node:util'
import { type Suite, suites } from './suites.ts'
import { optionalSystems, systems } from './systems/all.ts'
import type { System } from './systems/system.ts'

export interface Arguments {
  /** The suites, each with the requested ones of its workloads. */
  suites: readonly Suite[]
  systems: readonly System[]
  isQuick: boolean
  isJson: boolean
  rounds: number | undefined
  /** The page to rewrite, or undefined for none. */
  page: string | undefined
}

export const usage = `npm run bench -- <suite> [<suite> …] [options]

  suite             ${suites.map(({ name }) => name).join(', ')}, or all
                    (console and gauges, which compare with no peer, are programs of their own: name one alone)
  --workload a,b    only these workloads
  --only a,b        only these systems (${[...systems, ...optionalSystems].map(({ name }) => name).join(', ')})
  --rounds n        rounds per workload (3)
  --quick           small counts, one round, nothing tried out, nothing written: does it all work?
  --json            one JSON object per workload and system on stdout (with npm run, add -s)
  --no-write        leave docs/benchmarks.md as it is (so does --only and --workload)
  --page file       write the section into this file instead`

export function readArguments(argv: readonly string[]): Arguments | 'help' {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      workload: { type: 'string' },
      only: { type: 'string' },
      rounds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      'no-write': { type: 'boolean', default: false },
      page: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return 'help'
  if (positionals.length === 0) throw new Error(`Name a suite: ${suites.map(({ name }) => name).join(', ')}`)
  const asked = pick('suite', positionals.includes('all') ? undefined : positionals.join(','), suites)
  const workloads = pick(
    'workload',
    values.workload,
    asked.flatMap((suite) => suite.workloads),
  )
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds)
  if (rounds !== undefined && !(Number.isInteger(rounds) && rounds >= 1)) {
    throw new Error(`Expected --rounds to be an integer from 1 up, got '${values.rounds}'`)
  }
  // Part of a suite must not replace the published whole.
  const isWhole = values.workload === undefined && values.only === undefined
  const wholePage = isWhole ? 'docs/benchmarks.md' : undefined
  return {
    suites: asked
      .map((suite) => ({ ...suite, workloads: suite.workloads.filter((one) => workloads.includes(one)) }))
      .filter((suite) => suite.workloads.length > 0),
    systems:
      values.only === undefined ? systems : pick('system', values.only, [...systems, ...optionalSystems]),
    isQuick: values.quick,
    isJson: values.json,
    rounds,
    page: values.quick || values['no-write'] ? undefined : (values.page ?? wholePage),
  }
}

function pick<Named extends { name: string }>(
  what: string,
  asked: string | undefined,
  from: readonly Named[],
): Named[] {
  const names = asked?.split(',').map((name) => name.trim())
  const unknown = names?.find((name) => !from.some((one) => one.name === name))
  if (unknown !== undefined) {
    throw new Error(`Unknown ${what} '${unknown}'; there are ${from.map(({ name }) => name).join(', ')}`)
  }
  // In the order of the list and not of the arguments, so that tables always have the same order.
  return from.filter(({ name }) => names?.includes(name) ?? true)
}
