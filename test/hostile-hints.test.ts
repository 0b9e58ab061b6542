import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Database } from '../src/db/database.ts'
import { channelOf } from '../src/jobs/wake-up/hint.ts'
import { pick, seeded } from './guarantees/harness/random.ts'
import type { Random } from './guarantees/harness/random.ts'
import { form } from './support/form.ts'
import { patienceMs } from './support/patience.ts'
import { straightWay } from './support/way.ts'
import { newJob, startWorker, workerScene } from './support/workers.ts'

const scene = workerScene()
const seed = Number(process.env['STINT_SEED'] ?? Date.now() % 1_000_000_000)
const count = form === 'short' ? 10_000 : 100_000
const channel = channelOf('stint')
/** Postgres accepts payloads below 8,000 bytes. */
const longest = 7_999

interface Aim {
  queue: string
  worker: string
  /** A payload that a stranger hears when jobs are enqueued. */
  real: readonly string[]
}

/** A login of the cluster that may connect and has no other right. */
async function stranger(): Promise<pg.Client> {
  const name = `stranger_${randomUUID().slice(0, 8)}`
  await scene.db.query(`create role ${name} login password 'secret'`)
  const url = new URL(straightWay(scene.db.url))
  url.username = name
  url.password = 'secret'
  const client = new pg.Client(url.href)
  await client.connect()
  onTestFinished(async () => {
    await client.end()
    await scene.db.query(`drop role ${name}`)
  })
  return client
}

const numbers = [
  ...['1e300', '-1e300', '1e400', '-0', '0.5', '32767', '32768', '-32769', '101', '-101', '9007199254740993'],
  ...['"1"', 'null', 'true', '[]', '{}', '""'],
]
const words = [
  '',
  'constructor',
  '__proto__',
  'toString',
  '\u0000',
  '\ud800',
  '😀',
  '\u001b[2J',
  'a'.repeat(300),
]

function numberText(random: Random): string {
  const roll = random()
  // Distinct priorities within the valid range, then within smallint, then any number.
  if (roll < 0.3) return String(Math.floor(random() * 201) - 100)
  if (roll < 0.6) return String(Math.floor(random() * 65_536) - 32_768)
  if (roll < 0.8) return String((random() - 0.5) * 10 ** Math.floor(random() * 308))
  return pick(random, numbers) ?? '0'
}

/** One hint, valid or with some invalid parts. */
function entry(random: Random, queue: string): string {
  const name = random() < 0.7 ? queue : (pick(random, [...words, randomUUID()]) ?? '')
  const parts = [JSON.stringify(name), numberText(random)]
  parts.push(random() < 0.7 ? String(Math.floor(random() * 2)) : numberText(random))
  parts.push(random() < 0.7 ? '0' : numberText(random))
  if (random() < 0.1) parts.splice(Math.floor(random() * 4), 1)
  if (random() < 0.1) parts.push(numberText(random))
  return `[${parts.join(',')}]`
}

/** As many hints as fit into one payload. */
function many(random: Random, queue: string): string {
  let text = entry(random, queue)
  while (text.length < 7_000) text += `,${entry(random, queue)}`
  return `[${text}]`
}

function mutated(random: Random, text: string): string {
  const at = Math.floor(random() * text.length)
  const roll = random()
  if (roll < 0.4) return text.slice(0, at)
  if (roll < 0.8)
    return `${text.slice(0, at)}${pick(random, ['"', '[', '}', '-', 'e9', '\\', ','])}${text.slice(at)}`
  return text.repeat(3)
}

/** A real payload with a number or two changed: some of these are valid in any format. */
function altered(random: Random, real: readonly string[]): string {
  const text = pick(random, real) ?? ''
  return text.replaceAll(/-?\d+/g, (number) => (random() < 0.5 ? number : numberText(random)))
}

function payload(random: Random, { queue, worker, real }: Aim): string {
  const roll = random()
  if (roll < 0.15) return altered(random, real)
  if (roll < 0.2) return mutated(random, pick(random, real) ?? '')
  if (roll < 0.35) return `[${entry(random, queue)}]`
  if (roll < 0.4) return many(random, queue)
  if (roll < 0.6) return mutated(random, `[${entry(random, queue)},${entry(random, queue)}]`)
  if (roll < 0.7)
    return JSON.stringify({ cancel: [pick(random, [worker, randomUUID(), ...words]) ?? '', 7, null] })
  if (roll < 0.75)
    return JSON.stringify({ cancel: pick(random, [null, {}, 'all', 1e300, [[worker]]]), n: random() })
  if (roll < 0.8) return mutated(random, '{"schedules":true}')
  if (roll < 0.85) return '['.repeat(Math.floor(random() * longest))
  if (roll < 0.87) return pick(random, ['x', '9', '"', '\\'])?.repeat(longest) ?? ''
  return (
    pick(random, ['null', '0', '""', '[]', '{}', '[null]', '[[]]', '[{}]', '{"length":1e9}', ...words]) ?? ''
  )
}

/** Text that Postgres accepts as a payload: no NUL, no lone surrogate, no more bytes than allowed. */
function sendable(text: string): string {
  const clean = text.replaceAll(/\p{Surrogate}|\0/gu, '?')
  return Buffer.from(clean).subarray(0, longest).toString('utf8').replaceAll('\ufffd', '')
}

/** Counts how often each statement of Stint is sent from now on, by its file. */
function countStatements(): (file: string) => number {
  const spy = vi.spyOn(Database.prototype, 'query')
  onTestFinished(() => {
    spy.mockRestore()
  })
  return (file) => spy.mock.calls.filter(([text]) => text.startsWith(`/* ${file} */`)).length
}

test(
  `a job starts within a poll despite ${count} hostile NOTIFY payloads by a login that may only connect (seed ${seed})`,
  async () => {
    const job = newJob('plain')
    const worker = await startWorker(
      scene,
      { queues: { [job.queue]: 2 }, pollFloor: '500ms', notify: true },
      (one) => one.handle(job, () => 'done'),
    )
    const { id: workerId = '' } = worker.worker
    const client = await stranger()
    await client.query(`listen ${channel}`)
    const overheard: string[] = []
    const listeners = new Set<() => void>()
    client.on('notification', ({ payload: said = '' }) => {
      overheard.push(said)
      for (const listener of listeners) listener()
    })
    const hears = (test: () => boolean): Promise<void> =>
      new Promise((resolve) => {
        listeners.add(() => {
          if (test()) resolve()
        })
      })

    const first = hears(() => overheard.length >= 3)
    for (const options of [{ priority: 7 }, { key: 'acme' }, { delay: '2s' }] as const)
      await scene.stint.enqueue(job, {}, options)
    await first
    const aim = { queue: job.queue, worker: workerId, real: [...overheard] }

    const random = seeded(seed)
    for (let left = count; left > 0; left -= 2_000) {
      const payloads = Array.from({ length: 2_000 }, () => sendable(payload(random, aim)))
      await client.query(`select pg_notify('${channel}', p) from unnest($1::text[]) as p`, [payloads])
    }
    const last = `["the last of them","${randomUUID()}"]`
    const all = hears(() => overheard.at(-1) === last)
    await client.query(`select pg_notify('${channel}', $1)`, [last])
    await all

    const sent = countStatements()
    for (let n = 0; n < 3; n++) {
      const before = sent('jobs/survey.sql')
      // Inserted by hand, so that no hint is sent and only a poll finds it.
      const [{ id } = { id: '' }] = await scene.db.query<{ id: string }>(
        `insert into stint.job (id, queue, kind, input) values (gen_random_uuid(), $1, $2, '{}') returning id`,
        [job.queue, job.kind],
      )
      await worker.hears('succeeded', id)
      // One poll may be under way when the job is stored, and one more may follow before its claim is answered.
      expect(sent('jobs/survey.sql') - before, 'polls until it started').toBeLessThanOrEqual(3)
    }
    expect(worker.told('trouble')).toEqual([])
    expect(worker.told('workerLost')).toEqual([])
    expect(worker.worker.id).toBe(workerId)
    // A poll claims from every known level, so this is the number of remembered levels.
    const claims = sent('jobs/claim.sql') / Math.max(1, sent('jobs/survey.sql'))
    expect(claims, 'claims for each poll').toBeLessThanOrEqual(250)
  },
  2 * patienceMs,
)
