import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import type { Run } from './experiment.ts'

export const resultsFile = join(import.meta.dirname, '../results.json')

/** What one run of all experiments gave, and where. */
export interface Results {
  date: string
  commit: string
  form: 'short' | 'long'
  machine: string
  versions: { node: string; postgres: string }
  runs: Run[]
}

/** Gathers what the experiments have left in a folder. */
export function gather(folder: string, form: Results['form']): Results {
  const runs = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as { run: Run; postgres: string })
    .sort((a, b) => order.indexOf(a.run.name) - order.indexOf(b.run.name))
  const [cpu] = cpus()
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    form,
    machine: `${cpu?.model ?? 'unknown CPU'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB, ${type()} ${release()}`,
    versions: { node: process.versions.node, postgres: runs[0]?.postgres ?? 'unknown' },
    runs: runs.map(({ run }) => run),
  }
}

/** As the page tells them. */
const order = [
  ...['kill-storm', 'zombies', 'blocked-loop', 'restarts', 'outage', 'blackhole', 'commit-cuts'],
  ...['rolling-restart', 'poison', 'poison-isolated', 'fires'],
]

function commit(): string {
  const git = (...args: string[]): string => spawnSync('git', args, { encoding: 'utf8' }).stdout.trim()
  const head = git('rev-parse', '--short', 'HEAD')
  return git('status', '--porcelain', '--untracked-files=no') === '' ? head : `${head} with changes`
}
