import { spawnSync } from 'node:child_process'
import { cpus, loadavg, release, totalmem, type } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Bench } from './bench.ts'
import { installedVersion } from './systems/installed.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** When and where figures were measured: without it they say nothing. */
export interface Machine {
  date: string
  commit: string
  machine: string
  /** Other load: near 0 before the start means that the machine was otherwise idle. */
  loadAtStart: number
}

export function describeMachine(): Machine {
  const [cpu] = cpus()
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB`
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    machine: `${cpu?.model ?? 'unknown CPU'}, ${cpus().length} cores, ${memory}, ${type()} ${release()}`,
    loadAtStart: loadavg()[0] ?? 0,
  }
}

/** And with which versions. */
export interface Surroundings extends Machine {
  versions: Record<string, string>
}

export function describeSurroundings(bench: Bench): Surroundings {
  const packages = ['pg', 'ioredis'].map((name): [string, string] => [name, installedVersion(name)])
  const compared = bench.systems.map(({ name, version }): [string, string] => [name, version])
  return {
    ...describeMachine(),
    versions: {
      node: process.versions.node,
      postgres: bench.postgres.version,
      ...(bench.redis && { redis: bench.redis.version }),
      ...Object.fromEntries([...compared, ...packages]),
    },
  }
}

function commit(): string {
  const git = (...args: string[]) => spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' })
  const head = git('rev-parse', '--short', 'HEAD')
  if (head.status !== 0) return 'none yet'
  return git('status', '--porcelain').stdout.trim() === ''
    ? head.stdout.trim()
    : `${head.stdout.trim()} with changes`
}
