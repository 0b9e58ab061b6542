import { writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { monotonicMs } from '../support/ledger.ts'
import type { Line } from '../support/ledger.ts'
import type { WorkerProcess } from '../support/worker-process.ts'
import { experiment } from './harness/experiment.ts'
import { createScene } from './harness/scene.ts'
import type { Scene } from './harness/scene.ts'

/** Every way in which a handler can write; the heartbeat is the twelfth. */
const writes = [
  ...['complete', 'fail', 'snooze', 'dead-letter', 'cancel', 'progress', 'log', 'enqueue'],
  ...['tx', 'ctx.complete', 'once'],
] as const
const leaseMs = 3_000

experiment(
  {
    name: 'zombies',
    title: 'a worker that was stopped past its lease has everything refused that it does when it wakes',
    method:
      'Workers are stopped (SIGSTOP) with a job for every kind of write in hand, for three leases at least, while another worker takes the jobs over: half of them it still runs, half it has finished when the stopped ones go on (SIGCONT) and all write at once: complete, fail, snooze, dead-letter, cancel, progress, log, child, `ctx.tx`, `ctx.complete`, `ctx.once`, heartbeat.',
    short: { rounds: 1, processes: 10 },
    long: { rounds: 10, processes: 10 },
  },
  async ({ size }) => {
    const counts = { zombies: 0, stops: 0, writesRefused: 0, heartbeatsRefused: 0 }
    const verdicts = {
      ...{ staleAccepted: 0, notRefused: 0, resultsChanged: 0, heartbeatsAccepted: 0 },
      threadsReplaced: 0,
    }
    for (let round = 0; round < size.rounds; round++) {
      const scene = await createScene()
      const found = await oneRound(scene, size.processes)
      counts.stops += size.processes
      counts.zombies += found.jobs
      counts.writesRefused += found.refused
      counts.heartbeatsRefused += found.lostWorkers
      verdicts.notRefused += found.jobs - found.refused
      verdicts.heartbeatsAccepted += size.processes - found.lostWorkers
      verdicts.staleAccepted += found.traces
      verdicts.resultsChanged += found.changed
      verdicts.threadsReplaced += found.threadsReplaced
    }
    return { counts, verdicts }
  },
)

async function oneRound(
  { db, ledger, stint, contract, worker }: Scene,
  processes: number,
): Promise<Record<'jobs' | 'refused' | 'lostWorkers' | 'traces' | 'changed' | 'threadsReplaced', number>> {
  const names = Array.from({ length: processes }, (_, n) => `zombie ${n}`)
  const queueOf = (name: string): string => name.replace(' ', '-')
  const zombies: WorkerProcess[] = []
  // One after the other: so many starts at once would keep each other from the database for too long.
  for (const name of names) {
    const queues = { [queueOf(name)]: 20 }
    zombies.push(await worker(name, { lease: leaseMs, sweepEvery: '1h', queues, log: undefined }))
  }
  const inputs = writes.map((write, n) => ({ act: 'zombie', write, held: n % 2 === 0 }))
  for (const name of names) await stint.enqueueMany(contract, inputs, { queue: queueOf(name) })
  const jobs = writes.length * processes
  const isZombie = ({ worker: name }: Line): boolean => name.startsWith('zombie')
  await ledger.wroteMany((line) => line.type === 'start' && isZombie(line), jobs)
  const thaw = `${ledger.file}.thaw`
  for (const zombie of zombies) zombie.tell(`freeze ${thaw}`)
  await ledger.wroteMany({ type: 'frozen' }, processes)
  const stoppedAt = monotonicMs()
  for (const zombie of zombies) zombie.signal('SIGSTOP')

  const queues = Object.fromEntries(names.map((name) => [queueOf(name), 20]))
  const heir = await worker('heir', { lease: '30s', sweepEvery: '100ms', queues })
  await ledger.wroteMany({ type: 'start', worker: 'heir' }, jobs)
  const isFree = jobs - Math.ceil(writes.length / 2) * processes
  await ledger.wroteMany({ name: 'succeeded', worker: 'heir' }, isFree)
  await pause(Math.max(0, stoppedAt + 3 * leaseMs - monotonicMs()))
  writeFileSync(thaw, '')
  for (const zombie of zombies) zombie.signal('SIGCONT')

  // Each of them says what became of it: refused, or worse.
  const isSettled = ({ name, job }: Line): boolean => job !== undefined && name !== undefined
  const said = await ledger.wroteMany((line) => isZombie(line) && isSettled(line), jobs)
  const lost = await ledger.wroteMany((line) => isZombie(line) && line.name === 'workerLost', processes)
  heir.tell('go')
  await ledger.wroteMany({ name: 'succeeded', worker: 'heir' }, jobs)
  return {
    jobs,
    refused: said.filter(({ name }) => name === 'leaseLost').length,
    // Standing still with all the rest does not make a heartbeat thread a sick one.
    threadsReplaced: zombies.filter((zombie) => zombie.output().includes('it is replaced')).length,
    lostWorkers: new Set(lost.map(({ worker: name }) => name)).size,
    ...(await tracesIn(db)),
  }
}

/** What zombies left behind anywhere, and endings that are not the second owner's. */
async function tracesIn(db: Scene['db']): Promise<{ traces: number; changed: number }> {
  const [row] = await db.query<{ traces: number; changed: number }>(
    `select (select count(*) from effect)::integer
            + (select count(*) from stint.effect)::integer
            + (select count(*) from stint.log)::integer
            + (select count(*) from stint.dead)::integer
            + (select count(*) from stint.jobs where queue = 'children')::integer
            + (select count(*) from stint.job)::integer as traces,
            (select count(*) from stint.finished
              where state <> 'succeeded' or result ->> 'by' <> 'heir' or epoch <> 2 or attempt <> 1)::integer as changed`,
  )
  return row ?? { traces: NaN, changed: NaN }
}
