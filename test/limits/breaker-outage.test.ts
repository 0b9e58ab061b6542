import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { BreakerDefinition, JobContract } from '../../src/index.ts'
import { form } from '../support/form.ts'
import { createLedger } from '../support/ledger.ts'
import type { Ledger, Line } from '../support/ledger.ts'
import { optionsOfLane } from '../support/way.ts'
import { spawnProgram } from '../support/worker-process.ts'
import type { WorkerProcess } from '../support/worker-process.ts'
import { eventually, newName, workerScene } from '../support/workers.ts'

const scene = workerScene()
const program = join(import.meta.dirname, 'programs/breaker-worker.mjs')
const processes = form === 'short' ? 3 : 8
const outageMs = form === 'short' ? 3_000 : 20_000
const jobs = form === 'short' ? 300 : 2_000

interface Outage {
  ledger: Ledger
  job: JobContract
  name: string
  downFile: string
  hangFile: string
  start: (name: string) => WorkerProcess
}

async function newOutage(rule: Partial<BreakerDefinition> = {}): Promise<Outage> {
  const ledger = await createLedger()
  const name = newName('downstream')
  const job = { kind: newName('call'), queue: newName(), breakers: [name] }
  const breaker = { name, window: '10s', least: 20, open: '500ms', mostOpen: '2s', probes: 3, ...rule }
  const [downFile, hangFile] = [`${ledger.file}.down`, `${ledger.file}.hang`]
  const options = { connection: scene.db.url, queues: { [job.queue]: 4 }, pollFloor: '500ms', lease: '5s' }
  const start = (worker: string): WorkerProcess =>
    spawnProgram(program, {
      name: worker,
      ledger: ledger.file,
      options: { ...optionsOfLane(options), ...options },
      breaker,
      job,
      downFile,
      hangFile,
    })
  return { ledger, job: defineJob(job), name, downFile, hangFile, start }
}

function stateOf({ name }: Outage): Promise<string | undefined> {
  return scene.stint.breakers.get(name).then((found) => found?.state)
}

function calls({ ledger }: Outage, test: (line: Line) => boolean): Line[] {
  return ledger.lines({ type: 'call' }).filter(test)
}

test('while a downstream is down its jobs stay ready, only probes run, and all succeed afterwards', async () => {
  const outage = await newOutage()
  const { ledger, job, downFile } = outage
  for (let n = 0; n < processes; n++) outage.start(`w${n}`)
  await ledger.wroteMany({ type: 'ready' }, processes)
  writeFileSync(downFile, '')
  await scene.stint.enqueueMany(
    job,
    Array.from({ length: jobs }, () => null),
  )
  const { at: firstFailure } = await ledger.wrote({ type: 'call', isDown: true })
  const opened = await ledger.wrote({ type: 'breaker', was: 'closed', state: 'open' })
  expect(opened.at - firstFailure).toBeLessThan(3_000)
  // What was running when it opened ends; then all that runs is a probe.
  const settled = opened.at + 1_000
  await new Promise((resolve) => setTimeout(resolve, outageMs))
  const probing = ledger.lines({ type: 'breaker', state: 'half-open' })
  expect(probing.length).toBeGreaterThan(0)
  expect(calls(outage, ({ at }) => at > settled).length).toBeLessThanOrEqual(probing.length * 3)
  const waiting = await scene.db.query<{ state: string; attempt: number; jobs: number }>(
    `select state::text, max(attempt) as attempt, count(*)::integer as jobs from stint.job where queue = $1 group by state`,
    [job.queue],
  )
  const ready = waiting.find(({ state }) => state === 'ready')
  expect(ready?.jobs).toBeGreaterThan(jobs - 4 * processes * 2)
  // Each has another attempt: only what failed before the breaker was open has burned one.
  for (const { attempt } of waiting) expect(attempt).toBeLessThan(3)
  rmSync(downFile)
  await ledger.wrote({ type: 'breaker', was: 'half-open', state: 'closed' })
  await ledger.wroteMany({ type: 'succeeded' }, jobs)
  expect(ledger.lines({ type: 'dead' })).toEqual([])
  // One process made each change.
  const changes = (await scene.stint.breakers.get(outage.name))?.changes
  expect(ledger.lines({ type: 'breaker' })).toHaveLength(changes ?? 0)
}, 90_000)

test('a process that is killed while it probes is followed by another within its lease', async () => {
  const outage = await newOutage({ open: '2s' })
  const { ledger, job, downFile, hangFile } = outage
  const workers = [outage.start('w0'), outage.start('w1')]
  await ledger.wroteMany({ type: 'ready' }, 2)
  writeFileSync(downFile, '')
  await scene.stint.enqueueMany(
    job,
    Array.from({ length: 100 }, () => null),
  )
  await ledger.wrote({ type: 'breaker', was: 'closed', state: 'open' })
  await eventually(
    () => Promise.resolve(ledger.lines({ type: 'call' }).length === ledger.lines({ type: 'end' }).length),
    'the calls that were under way have ended',
  )
  // The next probes neither fail nor succeed.
  writeFileSync(hangFile, '')
  const { worker: prober } = await ledger.wrote(({ type, worker, at }) => {
    const probed = ledger.lines({ type: 'breaker', state: 'half-open', worker })
    return type === 'hang' && probed.some((taken) => taken.at < at)
  })
  workers.find(({ name }) => name === prober)?.signal('SIGKILL')
  const killedAt = Number(process.hrtime.bigint()) / 1e6
  rmSync(downFile)
  rmSync(hangFile)
  const next = await ledger.wrote(
    ({ type, worker, at }) => type === 'call' && worker !== prober && at > killedAt,
  )
  // Its lease is 3 s.
  expect(next.at - killedAt).toBeLessThan(6_000)
  await ledger.wrote({ type: 'breaker', was: 'half-open', state: 'closed' })
  await ledger.wroteMany({ type: 'succeeded' }, 100)
}, 60_000)

test('a breaker that a person has opened holds jobs back over restarts of all processes', async () => {
  const outage = await newOutage()
  const { ledger, job, name } = outage
  const first = outage.start('first')
  await ledger.wrote({ type: 'ready', worker: 'first' })
  await scene.stint.as({ actor: 'ana' }).breakers.open(name, { for: '1h', reason: 'moving' })
  first.signal('SIGKILL')
  await first.exited
  await scene.stint.enqueueMany(
    job,
    Array.from({ length: 5 }, () => null),
  )
  const second = outage.start('second')
  await ledger.wrote({ type: 'ready', worker: 'second' })
  second.signal('SIGTERM')
  await second.exited
  outage.start('third')
  await ledger.wrote({ type: 'ready', worker: 'third' })
  expect(await stateOf(outage)).toBe('open')
  expect(calls(outage, () => true)).toEqual([])
  await scene.stint.breakers.reset(name)
  await ledger.wroteMany({ type: 'succeeded' }, 5)
  await eventually(async () => (await stateOf(outage)) === 'closed', 'the breaker is closed')
}, 60_000)
