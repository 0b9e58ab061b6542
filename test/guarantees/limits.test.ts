import { setTimeout as pause } from 'node:timers/promises'
import { defineJob, defineLimit } from '../../src/index.ts'
import { monotonicMs } from '../support/ledger.ts'
import type { Ledger, Line } from '../support/ledger.ts'
import { holdSnapshot } from '../support/snapshot.ts'
import type { ProgramJob } from '../support/worker-process.ts'
import { audit, untilQuiet } from './harness/audit.ts'
import { experiment } from './harness/experiment.ts'
import { Fleet } from './harness/fleet.ts'
import { pick } from './harness/random.ts'
import { createScene } from './harness/scene.ts'

const everyMs = 250
const keys = 6
const perKey = 2
const inGroup = 7

const retry = { attempts: 1_000, backoff: ['20ms'] }
const limited: ProgramJob[] = ['one', 'two', 'three'].map((queue) => ({
  kind: `limited.${queue}`,
  queue,
  retry,
}))
const ordered: ProgramJob = { kind: 'ordered', queue: 'ordered', retry, isOrdered: true }
const flow = [
  defineLimit({ name: 'per-key', covers: [{ queue: 'one' }], by: 'key', max: perKey }),
  defineLimit({
    name: 'group',
    covers: [{ queue: 'one', kinds: ['limited.one'] }, { queue: 'two' }, { queue: 'three' }],
    max: inGroup,
  }),
]

experiment(
  {
    name: 'limits',
    title:
      'workers that are killed at random never run more jobs than limits allow, nor two of an ordered key',
    method:
      'Worker processes with leases of 3 s run jobs of three queues under a limit of two per key and a named limit of seven over all three, and jobs of a fourth queue in the order of their keys. A tenth of the attempts fails. Every 250 ms one process is killed by SIGKILL and replaced, and in half of the time a session holds an old snapshot. The times of all starts and ends come from a ledger outside of the database; a killed process ends its jobs when it is killed.',
    short: { processes: 3, kills: 4, jobs: 120 },
    medium: { processes: 8, kills: 120, jobs: 4_000 },
    long: { processes: 8, kills: 1_200, jobs: 40_000 },
    timeoutMs: 300_000,
  },
  async ({ size, random }) => {
    const { db, ledger, stint, setup } = await createScene()
    const queues = { one: 6, two: 3, three: 3, ordered: 4 }
    const options = { lease: '3s', sweepEvery: '200ms', queues, flow, pollFloor: '200ms' }
    const jobs = [...limited, ordered]
    const fleet = new Fleet({
      ledger,
      setup: (name) => setup(name, options, { isTerse: true, jobs }),
      isRestarted: true,
    })
    await Promise.all(Array.from({ length: size.processes }, () => fleet.start()))
    let n = 0
    const note = (): { n: number; key: string; act: string; failure: string; times: number; ms: number } => {
      ledger.append({ type: 'intent', worker: 'test', n: ++n })
      return {
        n,
        key: `key ${n % keys}`,
        act: 'failOrWork',
        failure: 'unknown',
        times: n % 10 === 0 ? 1 : 0,
        ms: 10 + (n % 5) * 10,
      }
    }
    for (const { isOrdered, ...definition } of jobs) {
      const contract = defineJob(definition)
      const own = isOrdered === true ? defineJob({ ...definition, key: keyOf, order: 'key' }) : contract
      const inputs = Array.from({ length: Math.ceil(size.jobs / jobs.length) }, note)
      const options = isOrdered === true ? {} : { each: (input: unknown) => ({ key: keyOf(input) }) }
      for (const { id } of (await stint.enqueueMany(own, inputs, options)).jobs)
        ledger.append({ type: 'ack', worker: 'test', job: id })
    }
    const snapshot = await holdSnapshot(db.url, 'stint.job')
    for (let kills = 0; kills < size.kills; kills++) {
      await pause(everyMs)
      if (kills === Math.floor(size.kills / 2)) await snapshot.end()
      const victim = pick(random, fleet.ready())
      if (victim === undefined) continue
      fleet.end(victim, 'SIGKILL')
      fleet.spawn()
    }
    await untilQuiet(db)
    fleet.close()
    const { lost, stuck, phantom, facts } = await audit(db, ledger, { mayBurn: true })
    const runs = runsOf(ledger)
    const ofOne = runs.filter(({ queue }) => queue === 'one')
    const inOrder = runs.filter(({ queue }) => queue === 'ordered')
    const overKey = excess(ofOne, ({ key }) => key, perKey)
    const overGroup = excess(
      runs.filter(({ queue }) => queue !== 'ordered'),
      () => '',
      inGroup,
    )
    return {
      counts: {
        jobs: facts.acknowledged,
        starts: facts.starts,
        kills: ledger.lines({ type: 'kill' }).length,
        mostOfAKey: perKey + overKey.worst,
        mostOfTheGroup: inGroup + overGroup.worst,
      },
      verdicts: {
        lost,
        stuck,
        phantom,
        overTheLimitOfAKey: overKey.times,
        overTheLimitOfTheGroup: overGroup.times,
        twoOfAnOrderedKeyAtOnce: excess(inOrder, ({ key }) => key, 1).times,
        startedOutOfOrder: outOfOrder(inOrder),
      },
    }
  },
)

function keyOf(input: unknown): string {
  return (input as { key: string }).key
}

interface Run {
  queue: string
  key: string
  n: number
  from: number
  to: number
}

/** When each attempt ran: to the line of its end, or to the kill of its process. */
function runsOf(ledger: Ledger): Run[] {
  const killedAt = new Map(ledger.lines({ type: 'kill' }).map(({ worker, at }) => [worker, at]))
  const ends = new Map(ledger.lines({ type: 'end' }).map((line) => [attemptOf(line), line.at]))
  const now = monotonicMs()
  return ledger.lines({ type: 'start' }).map((line) => ({
    queue: String(line.queue),
    key: `key ${Number(line.n) % keys}`,
    n: Number(line.n),
    from: line.at,
    to: Math.min(ends.get(attemptOf(line)) ?? now, killedAt.get(line.worker) ?? now),
  }))
}

function attemptOf({ job, epoch }: Line): string {
  return `${job} ${epoch}`
}

/** How often a start made more than `max` run at once in its group, and by how many at the worst. */
function excess(
  runs: readonly Run[],
  groupOf: (run: Run) => string,
  max: number,
): { times: number; worst: number } {
  const byGroup = new Map<string, Run[]>()
  for (const run of runs) byGroup.set(groupOf(run), [...(byGroup.get(groupOf(run)) ?? []), run])
  let times = 0
  let worst = -max
  for (const group of byGroup.values()) {
    group.sort((a, b) => a.from - b.from)
    let open: Run[] = []
    for (const run of group) {
      open = [...open.filter(({ to }) => to > run.from), run]
      worst = Math.max(worst, open.length - max)
      if (open.length > max) times++
    }
  }
  return { times, worst }
}

/** Starts of a job after a later job of its key had started. */
function outOfOrder(runs: readonly Run[]): number {
  const latest = new Map<string, number>()
  let times = 0
  for (const { key, n } of [...runs].sort((a, b) => a.from - b.from)) {
    if (n < (latest.get(key) ?? 0)) times++
    latest.set(key, Math.max(n, latest.get(key) ?? 0))
  }
  return times
}
