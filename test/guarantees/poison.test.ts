import { form } from '../support/form.ts'
import { untilQuiet } from './harness/audit.ts'
import { experiment } from './harness/experiment.ts'
import { Fleet } from './harness/fleet.ts'
import { createScene, endOf } from './harness/scene.ts'
import type { Scene } from './harness/scene.ts'

/** The ways in which a job ends its process. All of them come `each` times, spread over the stream. */
const poisons =
  form === 'short' ? ['exit', 'memory', 'loop'] : ['exit', 'abort', 'segfault', 'memory', 'loop']
const size = {
  short: { good: 100, each: 1 },
  medium: { good: 1_000, each: 1 },
  long: { good: 10_000, each: 10 },
}

const method = `Jobs that end their process (${poisons.join(', ')}) run among good ones. A process that ends is started again.`

experiment(
  {
    name: 'poison',
    title: 'jobs that kill their process are quarantined after three crashes, and all other jobs are done',
    method,
    ...size,
  },
  async ({ size: { good, each } }) => {
    const scene = await createScene()
    return poisoned(scene, { good, each, isolated: false })
  },
)

experiment(
  {
    name: 'poison-isolated',
    title: 'isolated jobs that kill their process end no worker, and are quarantined after three crashes',
    method: `${method} Every attempt runs in a child process.`,
    ...size,
  },
  async ({ size: { good, each } }) => {
    const scene = await createScene()
    return poisoned(scene, { good, each, isolated: true })
  },
)

async function poisoned(
  { db, ledger, stint, contract, setup, producer }: Scene,
  { good, each, isolated }: { good: number; each: number; isolated: boolean },
): Promise<{ counts: Record<string, number>; verdicts: Record<string, number> }> {
  const job = {
    kind: 'work',
    queue: 'work',
    timeout: '3s',
    // In a child an endless loop is a timeout, not a crash.
    retry: { attempts: 3, backoff: ['100ms'] },
    ...(isolated ? { isolate: 'process' as const } : {}),
  }
  const entry = new URL('../promises/programs/worker.mjs', import.meta.url).pathname
  const options = {
    sweepEvery: '200ms',
    crashLimit: 3,
    stuck: { grace: '1s' },
    // With children no worker should be lost: a short lease could only expire on a busy machine.
    ...(isolated
      ? { lease: '15s', queues: { work: 3 }, children: { entry, memoryMb: 96 } }
      : { lease: '5s', queues: { work: 5 } }),
  } as const
  const more = { isTerse: true, jobs: [job], execArgv: ['--max-old-space-size=96'] }
  const fleet = new Fleet({ ledger, setup: (name) => setup(name, options, more), isRestarted: true })
  await Promise.all(Array.from({ length: isolated ? 2 : 3 }, () => fleet.start()))
  const stream = await producer({ name: 'producer', perSecond: 100, inputs: [{ act: 'work', ms: 10 }] })
  for (let time = 0; time < each; time++) {
    await ledger.wroteMany({ type: 'ack' }, Math.floor(((time + 1 / 3) * good) / each))
    await stint.enqueueMany(
      contract,
      poisons.map((how) => ({ act: 'poison', how })),
    )
  }
  const poison = each * poisons.length
  await ledger.wroteMany({ type: 'ack' }, good)
  await endOf(stream)
  await untilQuiet(db)
  fleet.close()
  const [row] = await db.query<Record<'done' | 'dead' | 'most' | 'innocent' | 'live', number>>(
    `select (select count(*) from stint.finished where input ->> 'act' = 'work')::integer as done,
            (select count(*) from stint.dead where input ->> 'act' = 'poison')::integer as dead,
            (select coalesce(max(crashes), 0) from stint.dead)::integer as most,
            (select count(*) from stint.dead where input ->> 'act' <> 'poison')::integer as innocent,
            (select count(*) from stint.job)::integer as live`,
  )
  const acknowledged = ledger.lines({ type: 'ack' }).length
  return {
    counts: { good: acknowledged, poison, processesEnded: fleet.exits.length },
    verdicts: {
      goodNotDone: acknowledged - (row?.done ?? NaN),
      goodPutAside: row?.innocent ?? NaN,
      poisonNotPutAside: poison - (row?.dead ?? NaN),
      crashesBeyondThree: Math.max(0, (row?.most ?? NaN) - 3),
      stuck: row?.live ?? NaN,
    },
  }
}
