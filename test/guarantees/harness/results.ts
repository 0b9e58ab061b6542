import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import type { Form } from '../../support/form.ts'
import type { Run } from './experiment.ts'

export const resultsFile = join(import.meta.dirname, '../results.json')

/** When, where and in which form an experiment ran. */
export interface Provenance {
  date: string
  commit: string
  form: Form
  machine: string
  versions: { node: string; postgres: string }
}

/** The last run of each experiment that found nothing. */
export interface Results {
  runs: (Run & Provenance)[]
}

export function readResults(): Results {
  return JSON.parse(readFileSync(resultsFile, 'utf8')) as Results
}

/** The results, with older runs replaced by the successful runs whose files are in the folder. */
export function withRunsOf(folder: string, form: Provenance['form'], { runs: older }: Results): Results {
  const [cpu] = cpus()
  const shared = {
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    form,
    machine: `${cpu?.model ?? 'unknown CPU'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB, ${type()} ${release()}`,
  }
  const newer = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as { run: Run; postgres: string })
    .filter(({ run }) => Object.values(run.verdicts).every((times) => times === 0))
    .map(({ run, postgres }) => ({ ...shared, versions: { node: process.versions.node, postgres }, ...run }))
  const byName = new Map([...older, ...newer].map((run) => [run.name, run]))
  return { runs: [...byName.values()].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name)) }
}

/** The order on the page. */
const order = [
  ...[
    'limits',
    'overrides',
    'kill-storm',
    'zombies',
    'blocked-loop',
    'restarts',
    'outage',
    'blackhole',
    'commit-cuts',
  ],
  ...['rolling-restart', 'poison', 'poison-isolated', 'fires', 'steps', 'step-cuts', 'waiting-fleet'],
]

function commit(): string {
  const git = (...args: string[]): string => spawnSync('git', args, { encoding: 'utf8' }).stdout.trim()
  const head = git('rev-parse', '--short', 'HEAD')
  return git('status', '--porcelain', '--untracked-files=no') === '' ? head : `${head} with changes`
}
