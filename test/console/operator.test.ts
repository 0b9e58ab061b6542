import { describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { AuditEntry, Job } from '../../src/index.ts'
import { bury } from '../support/dead-letters.ts'
import { connectTo } from '../support/database.ts'
import { newJob, newName, startFor, workerScene } from '../support/workers.ts'

const scene = workerScene()
const ana = { actor: 'ana', role: 'operator', origin: 'cli', requestId: 'r-1' } as const

async function noted(target: string): Promise<AuditEntry[]> {
  return (await scene.stint.audit.list({ target })).entries
}

async function dead(contract = newJob(), input: unknown = { n: 1 }): Promise<Job> {
  const { id } = await scene.stint.enqueue(contract, input)
  await bury(scene.db, id, { fingerprint: 'b02c9e51b02c9e51' })
  const job = await scene.stint.get(id)
  if (job === undefined) throw new Error('not there')
  return job
}

async function waiting(): Promise<string> {
  return (await scene.stint.enqueue(newJob(), {}, { delay: '1h' })).id
}

describe('what an operator does', () => {
  const operator = () => scene.stint.as(ana)
  type Verb = [
    name: string,
    make: () => Promise<string>,
    act: (id: string) => Promise<Job>,
    after: Partial<Job>,
  ]
  const verbs: Verb[] = [
    [
      'job.replay',
      async () => (await dead()).id,
      (id) => operator().replay(id, { expect: { state: 'dead', epoch: 7 }, reason: 'fixed' }),
      { state: 'ready' },
    ],
    [
      'job.discard',
      async () => (await dead()).id,
      (id) => operator().discard(id, { expect: { state: 'dead' }, reason: 'fixed' }),
      { state: 'dead' },
    ],
    [
      'job.cancel',
      waiting,
      (id) => operator().cancel(id, { expect: { state: 'scheduled' }, reason: 'fixed' }),
      { state: 'cancelled', reason: 'fixed' },
    ],
    [
      'job.run-now',
      waiting,
      (id) => operator().runNow(id, { expect: { state: 'scheduled' }, reason: 'fixed' }),
      { state: 'ready' },
    ],
    [
      'job.reschedule',
      waiting,
      (id) => operator().reschedule(id, { delay: '2h', expect: { state: 'scheduled' }, reason: 'fixed' }),
      { state: 'scheduled' },
    ],
    [
      'job.reprioritize',
      waiting,
      (id) => operator().reprioritize(id, { priority: 7, expect: { state: 'scheduled' }, reason: 'fixed' }),
      { priority: 7 },
    ],
  ]

  test.each(verbs)('%s leaves one audit entry, in the same transaction', async (action, make, act, after) => {
    const id = await make()
    expect(await act(id)).toMatchObject(after)
    expect(await noted(id)).toMatchObject([
      {
        action,
        actor: 'ana',
        role: 'operator',
        origin: 'cli',
        requestId: 'r-1',
        outcome: 'done',
        reason: 'fixed',
        before: { epoch: expect.any(Number) as number },
      },
    ])
  })

  test.each(verbs)(
    '%s of a job in another state is refused with the current job, and leaves one audit entry',
    async (action, _, act) => {
      const { id } = await scene.stint.enqueue(newJob(), {})
      await scene.stint.cancel(id)
      await expect(act(id)).rejects.toMatchObject({
        code: 'state-changed',
        current: { id, state: 'cancelled' },
      })
      expect(await noted(id)).toMatchObject([
        { action, outcome: 'refused', after: { refused: 'state-changed' } },
      ])
    },
  )

  test('restore and edit leave audit entries, without the input of an edit', async () => {
    const contract = newJob()
    const { id } = await dead(contract)
    await operator().discard(id)
    await operator().restore(id)
    const edited = await operator().editAndReplay(id, { contract, input: { secret: 'hush' }, reason: 'typo' })
    expect(edited).toMatchObject({ replaces: id, input: { secret: 'hush' } })
    const entries = await noted(id)
    expect(entries.map(({ action, outcome }) => [action, outcome])).toEqual([
      ['job.edit', 'done'],
      ['job.restore', 'done'],
      ['job.discard', 'done'],
    ])
    expect(JSON.stringify(entries)).not.toContain('hush')
  })

  test('an input that its contract refuses changes nothing and is audited as refused', async () => {
    const contract = defineJob({
      kind: newName('strict'),
      input: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: (value) =>
            typeof (value as { n?: unknown }).n === 'number'
              ? { value }
              : { issues: [{ message: 'no number', path: ['n'] }] },
        },
      },
    })
    const { id } = await dead(contract)
    await expect(
      operator().editAndReplay(id, { contract, input: { n: 'x' }, reason: 'typo' }),
    ).rejects.toMatchObject({ code: 'invalid-input' })
    expect(await scene.stint.get(id)).toMatchObject({ state: 'dead', replacedBy: null })
    expect(await noted(id)).toMatchObject([{ action: 'job.edit', outcome: 'refused' }])
  })

  test('an action on another epoch than the one seen is refused, even in the same state', async () => {
    const { id } = await dead()
    await expect(operator().discard(id, { expect: { state: 'dead', epoch: 6 } })).rejects.toMatchObject({
      code: 'state-changed',
    })
    expect(await scene.stint.get(id)).toMatchObject({ discardedAt: null })
  })

  test('an action on an unknown job is refused and audited', async () => {
    const id = '019a8c3e-7c1b-7d5e-9f4e-2a6b0c1d2e3f'
    await expect(operator().cancel(id)).rejects.toMatchObject({ code: 'job-not-found' })
    expect(await noted(id)).toMatchObject([{ action: 'job.cancel', outcome: 'refused' }])
  })

  test('a repeated action is no error where it was done, and is audited each time', async () => {
    const id = await waiting()
    await operator().cancel(id)
    expect(await operator().cancel(id)).toMatchObject({ state: 'cancelled' })
    expect(await noted(id)).toMatchObject([{ outcome: 'done' }, { outcome: 'done' }])
  })

  test('of ten concurrent replays one succeeds, and each is audited', async () => {
    const { id } = await dead()
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, () => operator().replay(id, { expect: { state: 'dead' } })),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const outcomes = (await noted(id)).map(({ outcome }) => outcome)
    expect(outcomes.filter((one) => one === 'done')).toHaveLength(1)
    expect(outcomes).toHaveLength(10)
  })

  test('a running job is asked to stop, under the epoch that was seen', async () => {
    const contract = newJob()
    const worker = await startFor(
      scene,
      contract,
      (_, ctx) =>
        new Promise((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => {
            reject(ctx.signal.reason as Error)
          })
        }),
    )
    const { id } = await scene.stint.enqueue(contract, {})
    await worker.hears('started', id)
    await expect(operator().cancel(id, { expect: { state: 'running', epoch: 9 } })).rejects.toMatchObject({
      code: 'state-changed',
    })
    const asked = await operator().cancel(id, {
      expect: { state: 'running', epoch: 1 },
      wait: '20s',
      reason: 'enough',
    })
    expect(asked).toMatchObject({ state: 'cancelled' })
    expect((await noted(id)).map(({ outcome }) => outcome)).toEqual(['done', 'refused'])
  })

  test('an action that cannot be audited does not happen', async () => {
    const id = await waiting()
    const other = await connectTo(scene.db.url)
    await other.query(
      `create function stint.no_notes() returns trigger language plpgsql as $$ begin raise 'full' using errcode = '53100'; end $$`,
    )
    await other.query(
      `create trigger no_notes before insert on stint.audit for each row when (new.target = '${id}') execute function stint.no_notes()`,
    )
    const hasty = scene.stint.clone({ timeout: '500ms' })
    await expect(hasty.as(ana).cancel(id)).rejects.toMatchObject({ code: 'database-unavailable' })
    await hasty.close()
    await other.query('drop trigger no_notes on stint.audit')
    expect(await scene.stint.get(id)).toMatchObject({ state: 'scheduled' })
  })

  test('changes of queues and schedules are audited', async () => {
    const queue = newName()
    await operator().setQueue(queue, { keep: '2d', reason: 'disk' })
    expect(await noted(queue)).toMatchObject([{ action: 'queue.set', after: { keep: '2d' }, reason: 'disk' }])
    const name = newName('nightly')
    const contract = newJob()
    await operator().schedules.set({ name, job: contract, input: {}, cron: '0 2 * * *' }, { reason: 'new' })
    await operator().schedules.pause(name, { for: '1h', reason: 'deploy' })
    await operator().schedules.resume(name)
    const { jobId } = await operator().schedules.run(name)
    expect(await scene.stint.get(jobId)).toMatchObject({ state: 'ready' })
    const to = new Date()
    await operator().schedules.backfill(name, { from: new Date(to.getTime() - 2 * 86_400_000), to })
    await operator().schedules.delete(name, { reason: 'old' })
    await expect(operator().schedules.run(name)).rejects.toMatchObject({ code: 'schedule-not-found' })
    expect((await noted(name)).map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
      'schedule.run refused',
      ...[
        'schedule.delete done',
        'schedule.backfill done',
        'schedule.run done',
        'schedule.resume done',
        'schedule.pause done',
        'schedule.set done',
      ],
    ])
    expect((await noted(name)).at(-1)).toMatchObject({
      reason: 'new',
      after: { kind: contract.kind, queue: contract.queue, spec: { type: 'cron', cron: '0 2 * * *' } },
    })
  })
})

test('the audit is read by actor, target and action, page by page', async () => {
  const actor = newName('bo')
  const ids = [await waiting(), await waiting(), await waiting()]
  for (const id of ids) await scene.stint.as({ actor }).reprioritize(id, { priority: 1 })
  await scene.stint.as({ actor }).cancel(ids[0] ?? '')
  await scene.stint
    .as({ actor, origin: 'api' })
    .refused({ action: 'job.edit', target: ids[1] ?? '', why: 'role operator' })
  const list = async (options: Parameters<typeof scene.stint.audit.list>[0]): Promise<string[]> => {
    const all: string[] = []
    let cursor: string | undefined
    do {
      const page = await scene.stint.audit.list({ ...options, limit: 2, cursor })
      all.push(...page.entries.map((entry) => `${entry.action} ${entry.outcome}`))
      cursor = page.next
    } while (cursor !== undefined)
    return all
  }
  const moved = Array.from({ length: 3 }, () => 'job.reprioritize done')
  expect(await list({ actor })).toEqual(['job.edit refused', 'job.cancel done', ...moved])
  expect(await list({ actor, action: 'job.reprioritize' })).toEqual(moved)
  expect(await list({ actor, action: 'job' })).toHaveLength(5)
  expect(await list({ target: ids[1] })).toEqual(['job.edit refused', 'job.reprioritize done'])
  await expect(scene.stint.audit.list({ cursor: 'x' })).rejects.toMatchObject({ code: 'invalid-option' })
})
