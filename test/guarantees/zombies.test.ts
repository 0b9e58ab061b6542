import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { monotonicMs } from '../support/ledger.ts'
import type { Line } from '../support/ledger.ts'
import type { WorkerProcess } from '../support/worker-process.ts'
import { experiment } from './harness/experiment.ts'
import { createScene } from './harness/scene.ts'
import type { Scene } from './harness/scene.ts'

/** Every write that a handler can do, and the name of its count. The heartbeat is one more. */
const writes = {
  complete: 'complete',
  fail: 'fail',
  snooze: 'snooze',
  'dead-letter': 'deadLetter',
  cancel: 'cancel',
  progress: 'progress',
  log: 'log',
  enqueue: 'childEnqueue',
  tx: 'ctxTx',
  'ctx.complete': 'ctxComplete',
  once: 'ctxOnce',
  step: 'step',
  stepTx: 'stepTx',
  take: 'take',
  suspend: 'suspend',
  stepsEnd: 'endWithSteps',
  memberEnd: 'endOfMember',
} as const
const leaseMs = 4_000

experiment(
  {
    name: 'zombies',
    title: 'a worker that was stopped past its lease is refused every write when it resumes',
    method:
      'Workers that run a job for every kind of write are stopped (SIGSTOP) for at least three leases, while another worker takes the jobs over. When the stopped workers resume (SIGCONT), the other worker has finished half of the jobs and still runs the rest. Each stopped worker then sends all its writes at once: complete, fail, snooze, dead-letter, cancel, progress, log, child, `ctx.tx`, `ctx.complete`, `ctx.once`, `ctx.step`, `ctx.stepTx`, a signal taken, a suspend, the end of a job with steps, the end of a member of a flow, heartbeat. It learns that it was lost, goes on under another id and is stopped again.',
    short: { rounds: 1, processes: 4 },
    medium: { rounds: 5, processes: 20 },
    long: { rounds: 50, processes: 20 },
    timeoutMs: 300_000,
  },
  async ({ size }) => {
    // In two halves: one is mostly stopped while the other resumes.
    const each = { rounds: size.rounds, processes: size.processes / 2 }
    const [one, other] = [await createScene(), await createScene()]
    let onStopped: () => void = () => undefined
    const firstStop = new Promise<void>((resolve) => (onStopped = resolve))
    const first = stopAgainAndAgain(one, each, onStopped)
    const halves = [
      first,
      Promise.race([firstStop, first]).then(() => stopAgainAndAgain(other, each, () => undefined)),
    ]
    const found = (await Promise.all(halves)).flat()
    const refused = found.flatMap((round) => round.refused)
    const heartbeatsRefused = found.reduce((sum, { lostWorkers }) => sum + lostWorkers, 0)
    const left = [await tracesIn(one), await tracesIn(other)]
    const stops = found.length * each.processes
    const zombies = Object.keys(writes).length * stops
    return {
      counts: {
        stops,
        zombies,
        writesRefused: refused.length,
        heartbeatsRefused,
        ...Object.fromEntries(
          Object.entries(writes).map(([write, name]) => [
            `${name}Refused`,
            refused.filter((one) => one === write).length,
          ]),
        ),
      },
      verdicts: {
        staleAccepted: left.reduce((sum, { traces }) => sum + traces, 0),
        notRefused: zombies - refused.length,
        resultsChanged: left.reduce((sum, { changed }) => sum + changed, 0),
        heartbeatsAccepted: stops - heartbeatsRefused,
        threadsReplaced: found.reduce((sum, { threadsReplaced }) => sum + threadsReplaced, 0),
      },
      measures: { claimedAgain: left.reduce((sum, { claimedAgain }) => sum + claimedAgain, 0) },
    }
  },
)

interface Round {
  /** The writes that were refused. */
  refused: string[]
  /** How many workers learned that they were lost. */
  lostWorkers: number
  /** Heartbeat threads that were replaced because they had been stopped with their process. */
  threadsReplaced: number
}

const queueOf = (name: string): string => name.replace(' ', '-')

async function stopAgainAndAgain(
  scene: Scene,
  { rounds, processes }: { rounds: number; processes: number },
  onStopped: () => void,
): Promise<Round[]> {
  const zombies: WorkerProcess[] = []
  // One after the other: so many starts at once would delay each other for too long.
  for (let n = 0; n < processes; n++) {
    const name = `zombie ${n}`
    const options = { lease: leaseMs, sweepEvery: '1h', queues: { [queueOf(name)]: 20 }, log: undefined }
    zombies.push(await scene.worker(name, options))
  }
  const found: Round[] = []
  for (let round = 1; round <= rounds; round++) {
    const one = await stopAll(scene, { zombies, round, onStopped })
    found.push(one)
    // A worker that does not know that it is lost cannot take part in another round. The verdict counts anyway.
    if (one.lostWorkers < processes) break
  }
  return found
}

/** Stops all zombies once, and lets them write when another worker has their jobs. */
async function stopAll(
  { db, ledger, stint, contract, worker }: Scene,
  { zombies, round, onStopped }: { zombies: readonly WorkerProcess[]; round: number; onStopped: () => void },
): Promise<Round> {
  const inputs = Object.keys(writes).map((write, n) => ({ act: 'zombie', write, held: n % 2 === 0 }))
  const writeOf = new Map<string, string>()
  for (const { name } of zombies) {
    const queue = queueOf(name)
    const { jobs } = await stint.enqueueMany(contract, inputs.slice(0, -1), { queue })
    const ids = [...jobs.map(({ id }) => id), await storeMember(db, { queue, input: inputs.at(-1) })]
    for (const [n, id] of ids.entries()) writeOf.set(id, inputs[n]?.write ?? '')
    const taking = ids[inputs.findIndex(({ write }) => write === 'take')] ?? ''
    await stint.signal(taking, 'go')
  }
  const isOurs = ({ job }: Line): boolean => job !== undefined && writeOf.has(job)
  const isZombie = ({ worker: name }: Line): boolean => name.startsWith('zombie')
  await ledger.wroteMany((line) => line.type === 'start' && isZombie(line) && isOurs(line), writeOf.size)
  const thawOf = ({ name }: WorkerProcess): string => `${ledger.file}.${queueOf(name)}.${round}`
  for (const zombie of zombies) zombie.tell(`freeze ${thawOf(zombie)}`)
  await ledger.wroteMany({ type: 'frozen' }, round * zombies.length)
  const stoppedAt = monotonicMs()
  for (const zombie of zombies) zombie.signal('SIGSTOP')
  onStopped()

  const queues = Object.fromEntries(zombies.map(({ name }) => [queueOf(name), 20]))
  const heir = await worker(`heir ${round}`, { lease: '30s', sweepEvery: '100ms', queues })
  await ledger.wroteMany({ type: 'start', worker: heir.name }, writeOf.size)
  const free = inputs.filter(({ held }) => !held).length * zombies.length
  await ledger.wroteMany({ name: 'succeeded', worker: heir.name }, free)
  await pause(Math.max(0, stoppedAt + 3 * leaseMs - monotonicMs()))
  const refused: string[] = []
  let isMissed = false
  for (const zombie of zombies) {
    const since = (line: Line): boolean => line.worker === zombie.name && line.at > stoppedAt
    writeFileSync(thawOf(zombie), '')
    zombie.signal('SIGCONT')
    // The worker reports the outcome of each write: refused, or worse.
    const said = await ledger.wroteMany(
      (line) => since(line) && isOurs(line) && line.name !== undefined,
      inputs.length,
    )
    for (const { name, job = '' } of said) if (name === 'leaseLost') refused.push(writeOf.get(job) ?? '')
    // The worker learns that it was lost, and goes on under another id. After one timeout the others are not waited for.
    if (isMissed) continue
    isMissed = await ledger
      .wrote((line) => since(line) && line.name === 'workerLost')
      .then(() => ledger.wrote((line) => since(line) && line.name === 'ready'))
      .then(
        () => false,
        () => true,
      )
  }
  const isLoss = ({ name, at }: Line): boolean => name === 'workerLost' && at > stoppedAt
  const lost = new Set(ledger.lines((line) => isLoss(line) && isZombie(line)).map(({ worker: name }) => name))
  heir.tell('go')
  await ledger.wroteMany({ name: 'succeeded', worker: heir.name }, writeOf.size)
  // The jobs of the next round must go to the zombies again.
  heir.signal('SIGKILL')
  await heir.exited
  return {
    refused,
    lostWorkers: lost.size,
    threadsReplaced: zombies.filter((zombie) => zombie.output().includes('it is replaced')).length,
  }
}

/** Stores a job that is the only member of a flow. */
async function storeMember(
  db: Scene['db'],
  { queue, input }: { queue: string; input: unknown },
): Promise<string> {
  const id = randomUUID()
  const group = { queue, kind: 'work', priority: 0, maxAttempts: 5, version: 1 }
  const groups = [{ ...group, ids: [id], places: [0], inputs: [input] }]
  const flow = { id: randomUUID(), name: 'f', nodes: [{ name: 'only', needs: 0, chances: 0, groups }] }
  await db.query('select * from stint.enqueue_flows($1)', [JSON.stringify([flow])])
  return id
}

/** Counts all writes of zombies that were stored, and all endings that are not the second owner's. */
async function tracesIn({ db, ledger }: Scene): Promise<Traces> {
  const [left] = await db.query<{ traces: number }>(
    `select (select count(*) from effect)::integer
            + (select count(*) from stint.effect)::integer
            + (select count(*) from stint.log)::integer
            + (select count(*) from stint.dead)::integer
            + (select count(*) from stint.jobs where queue = 'children')::integer
            + (select count(*) from stint.step where name like '%late')::integer
            + (select count(*) from stint.signal where taken_by is not null)::integer
            + (select count(*) from stint.flow where coalesce((
                 select sum(succeeded + dead + cancelled) from stint.flow_node where flow_id = flow.id), 0) + coalesce((
                 select sum(succeeded + dead + cancelled) from stint.flow_ending where flow_id = flow.id), 0) <> 1)::integer
            + (select count(*) from stint.job)::integer as traces`,
  )
  const endings = await db.query<Ending>(
    `select id, state, result ->> 'by' as by, epoch::integer, attempt::integer from stint.finished`,
  )
  const [taken, inherited] = [new Map<string, number>(), new Map<string, number>()]
  for (const { worker: name, job = '', epoch = 0 } of ledger.lines({ type: 'start' })) {
    if (!name.startsWith('heir')) taken.set(job, epoch)
    // NaN if the heir started it twice: no other worker may have had it in between.
    else inherited.set(job, inherited.has(job) ? NaN : epoch)
  }
  const changed = endings.filter(({ id, state, by, epoch, attempt }) => {
    // Not simply 2: on a busy machine the reply to a zombie's claim may come too late, and its jobs are claimed again.
    const isSecondOwners = epoch === inherited.get(id) && epoch === (taken.get(id) ?? NaN) + 1
    return state !== 'succeeded' || by?.startsWith('heir') !== true || !isSecondOwners || attempt !== 1
  })
  for (const ending of changed) process.stdout.write(`zombies: ${JSON.stringify(ending)}\n`)
  const claimedAgain = [...taken.values()].filter((epoch) => epoch > 1).length
  return { traces: left?.traces ?? NaN, changed: changed.length, claimedAgain }
}

interface Traces {
  traces: number
  changed: number
  /** Jobs that a zombie had to claim twice before it was stopped. */
  claimedAgain: number
}

interface Ending {
  id: string
  state: string
  /** The worker that the result names. */
  by: string | null
  epoch: number
  attempt: number
}
