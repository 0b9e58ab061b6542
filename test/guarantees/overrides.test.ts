import { defineJob, defineLimit } from '../../src/index.ts'
import { form } from '../support/form.ts'
import { monotonicMs } from '../support/ledger.ts'
import type { Ledger } from '../support/ledger.ts'
import type { ProgramJob } from '../support/worker-process.ts'
import { percentile } from './harness/audit.ts'
import { experiment } from './harness/experiment.ts'
import { Fleet } from './harness/fleet.ts'
import { createScene } from './harness/scene.ts'

/** `held`: jobs that do not end, so no end of a job makes a worker claim again. `quick`: jobs of 50 ms. */
const held: ProgramJob = { kind: 'held', queue: 'held' }
const quick: ProgramJob = { kind: 'quick', queue: 'quick' }
const [declared, low] = [6, 2]
const flow = [
  defineLimit({ name: 'held', covers: [{ queue: 'held' }], max: 1_000 }),
  defineLimit({ name: 'quick', covers: [{ queue: 'quick' }], max: declared }),
]
const mostMs = 1_000

experiment(
  {
    name: 'overrides',
    title: 'an override of a limit takes effect within a second, up and down, and ends by itself',
    method:
      'Worker processes run jobs of two queues, each under a limit for the whole queue. The jobs of one queue do not end: its limit is overridden to one more job again and again, and the time is until one more job starts. The jobs of the other take 50 ms: its limit is lowered from six to two for one second, and the time is until the last start beside two running jobs, then from the end of the override until a third job runs. At last an override of the first queue ends while no job ends: a worker notices that with its next poll, a second later at most, so this time is shown and not judged. The times of all starts and ends come from a ledger outside of the database. The short form does not judge times.',
    short: { processes: 2, turns: 1 },
    medium: { processes: 8, turns: 20 },
    long: { processes: 8, turns: 200 },
  },
  async ({ size }) => {
    const { ledger, stint, setup } = await createScene()
    const { limits } = stint
    const options = {
      lease: '30s',
      queues: { held: Math.ceil(size.turns / size.processes) + 1, quick: 4 },
      flow,
    }
    const fleet = new Fleet({
      ledger,
      setup: (name) => setup(name, options, { isTerse: true, jobs: [held, quick] }),
    })
    await Promise.all(Array.from({ length: size.processes }, () => fleet.start()))
    await limits.override('held', { max: 0, until: 'cleared' })
    await stint.enqueueMany(
      defineJob(held),
      Array.from({ length: size.turns + 1 }, () => ({ act: 'hold' })),
    )

    const times: Record<'up' | 'down' | 'end', number[]> = { up: [], down: [], end: [] }
    let overTheLimit = 0
    for (let turn = 1; turn <= size.turns; turn++) {
      const raisedAt = monotonicMs()
      await limits.override('held', { max: turn, until: 'cleared' })
      const starts = await ledger.wroteMany({ type: 'start', queue: 'held' }, turn)
      times.up.push(sinceMs(starts.at(-1)?.at, raisedAt))
      if (ledger.lines({ type: 'start', queue: 'held' }).length > turn) overTheLimit++

      await stint.enqueueMany(
        defineJob(quick),
        Array.from({ length: 300 }, () => ({ act: 'sleep', ms: 50 })),
      )
      await untilRuns(ledger, declared, monotonicMs())
      const loweredAt = monotonicMs()
      const { override } = await limits.override('quick', { max: low, for: '1s' })
      const endsAt = monotonicMs() + (override?.until?.getTime() ?? 0) - Date.now()
      times.end.push(sinceMs(await untilRuns(ledger, low + 1, endsAt), endsAt))
      const late = runsOf(ledger).filter(
        ({ from, beside }) => from > loweredAt && from < endsAt && beside > low,
      )
      times.down.push(sinceMs(late.at(-1)?.from, loweredAt))
    }

    const { override } = await limits.override('held', { max: size.turns, for: '1400ms' })
    const endsAt = monotonicMs() + (override?.until?.getTime() ?? 0) - Date.now()
    const starts = await ledger.wroteMany({ type: 'start', queue: 'held' }, size.turns + 1)
    const idleEndMs = sinceMs(starts.at(-1)?.at, endsAt)
    fleet.close()

    const runs = runsOf(ledger)
    const late = (of: readonly number[]): number => of.filter((ms) => ms > mostMs).length
    return {
      counts: { overrides: 2 * size.turns + 1, starts: runs.length },
      verdicts: {
        overTheLimit: overTheLimit + runs.filter(({ beside }) => beside > declared).length,
        ...(form === 'short'
          ? {}
          : {
              upAfterASecond: late(times.up),
              downAfterASecond: late(times.down),
              endedAfterASecond: late(times.end),
            }),
      },
      measures: {
        upP50Ms: percentile(times.up, 0.5),
        upMaxMs: Math.max(...times.up),
        downP50Ms: percentile(times.down, 0.5),
        downMaxMs: Math.max(...times.down),
        endP50Ms: percentile(times.end, 0.5),
        endMaxMs: Math.max(...times.end),
        idleEndMs,
      },
    }
  },
)

function sinceMs(at: number | undefined, from: number): number {
  return Math.max(0, (at ?? from) - from)
}

/** Waits until so many quick jobs run at once, from that time on; returns when the last of them started. */
async function untilRuns(ledger: Ledger, wanted: number, from: number): Promise<number> {
  for (;;) {
    const runs = runsOf(ledger)
    const found = runs.find((run) => run.from >= from && run.beside >= wanted)
    if (found !== undefined) return found.from
    await ledger.wroteMany({ type: 'start', queue: 'quick' }, runs.length + 1)
  }
}

/** Each start of a quick job, in order of time, with how many ran then, itself included. */
function runsOf(ledger: Ledger): { from: number; beside: number }[] {
  const lines = [
    ...ledger.lines({ type: 'start', queue: 'quick' }),
    ...ledger.lines({ type: 'end', queue: 'quick' }),
  ].sort((a, b) => a.at - b.at)
  const runs: { from: number; beside: number }[] = []
  let running = 0
  for (const { type, at } of lines) {
    running += type === 'start' ? 1 : -1
    if (type === 'start') runs.push({ from: at, beside: running })
  }
  return runs
}
