import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { defineJob, Stint } from '../src/index.ts'
import { deadLettersScene, mail, unknownId } from './dead-letters-scene.ts'
import { bury } from './support/dead-letters.ts'
import { startFaultProxy } from './support/fault-proxy.ts'

const scene = deadLettersScene()
const { deadMail } = scene

const charge = defineJob({
  kind: 'card.charge',
  queue: 'billing',
  unique: { by: (input) => (input as { order: string }).order },
})

async function placesOf(id: string): Promise<string[]> {
  const rows = await scene.db.query<{ place: string }>('select place from stint.jobs where id = $1', [id])
  return rows.map(({ place }) => place)
}

describe('replay', () => {
  test('a replay brings back the same job, with new attempts whose numbers go on', async () => {
    const enqueued = { priority: 9, correlationId: 'order 77', search: { tier: 'gold' }, attempts: 5 }
    const { id } = await scene.stint.enqueue(
      mail,
      { to: 'ana' },
      { ...enqueued, deadline: '1h', timeout: '7s', idempotencyKey: 'mail 77' },
    )
    const before = await scene.stint.get(id)
    await bury(scene.db, id, { attempt: 5, epoch: 7 })
    expect(await scene.stint.dead.replay(id)).toMatchObject({
      id,
      state: 'ready',
      epoch: 7,
      attempt: 5,
      attemptsBefore: 5,
      maxAttempts: 10,
      crashes: 0,
      progress: null,
      deadlineAt: null,
      startedAt: null,
      workerId: null,
      createdAt: before?.createdAt,
      priority: 9,
      correlationId: 'order 77',
      search: { to: 'ana', tier: 'gold' },
      key: 'ana',
      input: { to: 'ana' },
    })
    expect(await scene.db.query('select options, failures from stint.job where id = $1', [id])).toEqual([
      { options: { timeoutMs: 7_000 }, failures: null },
    ])
    expect(await placesOf(id)).toEqual(['live'])
    expect(await scene.stint.attempts(id)).toHaveLength(1)
    expect(await scene.stint.enqueue(mail, { to: 'ana' }, { idempotencyKey: 'mail 77' })).toMatchObject({
      id,
      duplicate: true,
    })

    await bury(scene.db, id, { attempt: 10, epoch: 12 })
    expect(await scene.stint.dead.replay(id)).toMatchObject({
      epoch: 12,
      attemptsBefore: 10,
      maxAttempts: 15,
    })
    expect(await scene.stint.cancel(id)).toMatchObject({ attemptsBefore: 10 })
  })

  test('a replay with a delay waits for its time', async () => {
    const id = await deadMail()
    const job = await scene.stint.dead.replay(id, { delay: '1h' })
    expect(job.state).toBe('scheduled')
    expect(job.runAt.getTime()).toBeGreaterThan(Date.now() + 3_500_000)
  })

  test('a replay of a live job, a discarded dead letter or an unknown id is refused', async () => {
    const { id } = await scene.stint.enqueue(mail, { to: 'ana' })
    await expect(scene.stint.dead.replay(id)).rejects.toMatchObject({
      code: 'state-changed',
      message: expect.stringContaining('is ready') as string,
    })
    await bury(scene.db, id)
    await scene.stint.dead.discard(id)
    await expect(scene.stint.dead.replay(id)).rejects.toMatchObject({
      code: 'state-changed',
      message: expect.stringContaining('trash') as string,
    })
    await expect(scene.stint.dead.replay(unknownId)).rejects.toMatchObject({ code: 'job-not-found' })
    await expect(scene.stint.dead.replay('7')).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(scene.stint.dead.replay(id, { dalay: 1 } as never)).rejects.toMatchObject({
      code: 'invalid-option',
    })
    await expect(scene.stint.dead.replay(id, { input: {} } as never)).rejects.toMatchObject({
      code: 'invalid-option',
    })
  })

  test('a replay takes the unique key again, and is refused where a live job has it', async () => {
    const order = randomUUID()
    const { id } = await scene.stint.enqueue(charge, { order })
    await bury(scene.db, id)
    const second = await scene.stint.enqueue(charge, { order })
    expect(second.duplicate).toBe(false)
    await expect(scene.stint.dead.replay(id)).rejects.toMatchObject({
      code: 'duplicate-job',
      jobIds: [second.id],
      message: expect.stringContaining(second.id) as string,
    })
    expect(await placesOf(id)).toEqual(['dead'])
    await scene.stint.cancel(second.id)
    await scene.stint.dead.replay(id)
    expect(await scene.stint.enqueue(charge, { order })).toMatchObject({ id, duplicate: true })
  })

  test('of 20 concurrent replays of a dead letter one succeeds', async () => {
    const id = await deadMail()
    const replays = await Promise.allSettled(Array.from({ length: 20 }, () => scene.stint.dead.replay(id)))
    expect(replays.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const replay of replays)
      if (replay.status === 'rejected') expect(replay.reason).toMatchObject({ code: 'state-changed' })
    expect(await scene.stint.get(id)).toMatchObject({ state: 'ready', maxAttempts: 10 })
    expect(await placesOf(id)).toEqual(['live'])
  })

  test('of a concurrent replay and discard exactly one succeeds, 20 times over', async () => {
    for (let round = 0; round < 20; round++) {
      const id = await deadMail()
      const [replayed, discarded] = await Promise.allSettled([
        scene.stint.dead.replay(id),
        scene.stint.dead.discard(id),
      ])
      expect([replayed, discarded].filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      const job = await scene.stint.get(id)
      expect(job?.state).toBe(replayed.status === 'fulfilled' ? 'ready' : 'dead')
      expect(await placesOf(id)).toHaveLength(1)
    }
  })

  test.each(['before', 'after'] as const)(
    'a replay whose connection dies %s its commit happens once and returns the job',
    async (when) => {
      const proxy = await startFaultProxy(scene.db.url)
      const client = new Stint({ connection: proxy.url })
      const id = await deadMail()
      const cut = proxy.cutNext({ text: 'jobs/dead/replay.sql', when })
      expect(await client.dead.replay(id)).toMatchObject({ id, state: 'ready', maxAttempts: 10 })
      await cut
      await client.close()
    },
  )

  test('a replay whose reply is lost does not replay the next death of the job', async () => {
    const id = await deadMail({}, { epoch: 7 })
    // So that it has died again before a caller can ask.
    await scene.db.query(`create function die_again() returns trigger language plpgsql as $$
      begin
        insert into stint.dead
          (id, created_at, run_at, epoch, attempt, max_attempts, crashes, priority, version, queue, kind, reason)
        values (new.id, new.created_at, now(), new.epoch + 1, 6, 10, 0, 0, 1, new.queue, new.kind, 'permanent');
        delete from stint.job where id = new.id;
        return null;
      end $$`)
    await scene.db.query(
      `create trigger die_again after insert on stint.job for each row when (new.id = '${id}') execute function die_again()`,
    )
    const proxy = await startFaultProxy(scene.db.url)
    const client = new Stint({ connection: proxy.url })
    const cut = proxy.cutNext({ text: 'jobs/dead/replay.sql', when: 'after' })
    expect(await client.dead.replay(id)).toMatchObject({ state: 'dead', epoch: 8 })
    await cut
    await client.close()
    await scene.db.query('drop trigger die_again on stint.job')
  })
})

describe('replay with another input', () => {
  test('a replay with another input makes a new job, and both jobs refer to each other', async () => {
    const { id: parentId } = await scene.stint.enqueue(mail, { to: 'eve' })
    const id = await deadMail({ queue: 'vip', priority: 7, correlationId: 'order 9', timeout: '7s' })
    await scene.db.query('update stint.dead set parent_id = $2 where id = $1', [id, parentId])
    const old = await scene.stint.dead.get(id)
    const edited = await scene.stint.dead.replay(id, { contract: mail, input: { to: 'bob' }, delay: '1h' })
    expect(edited).toMatchObject({
      state: 'scheduled',
      replaces: id,
      parentId,
      correlationId: 'order 9',
      queue: 'vip',
      priority: 7,
      input: { to: 'bob' },
      key: 'bob',
      search: { to: 'bob' },
      attempt: 0,
      maxAttempts: 5,
      epoch: 0,
    })
    expect(edited.id).not.toBe(id)
    expect(await scene.stint.dead.get(id)).toEqual({ ...old, replacedBy: edited.id })
    expect(await scene.db.query('select options from stint.job where id = $1', [edited.id])).toEqual([
      { options: { timeoutMs: 7_000 } },
    ])
    expect((await scene.stint.dead.list({ queue: 'vip' })).dead).toEqual([])
    expect((await scene.stint.dead.list({ queue: 'vip', replaced: true })).dead).toMatchObject([{ id }])
    for (const act of [
      () => scene.stint.dead.replay(id),
      () => scene.stint.dead.replay(id, { contract: mail, input: { to: 'eve' } }),
      () => scene.stint.dead.discard(id),
    ])
      await expect(act()).rejects.toMatchObject({
        code: 'state-changed',
        message: expect.stringContaining(edited.id) as string,
      })
    expect(await scene.stint.cancel(edited.id)).toMatchObject({ replaces: id })
  })

  test('a replay with another input keeps the key, search words and unique key that the enqueue had given', async () => {
    const id = await deadMail({ key: 'vip', search: { tier: 'gold' }, unique: { key: randomUUID() } })
    const [{ unique_key: uniqueKey } = { unique_key: '' }] = await scene.db.query<{ unique_key: string }>(
      'select unique_key from stint.dead where id = $1',
      [id],
    )
    const edited = await scene.stint.dead.replay(id, { contract: mail, input: { to: 'bob' } })
    expect(edited).toMatchObject({ key: 'vip', search: { to: 'bob', tier: 'gold' } })
    expect(await scene.db.query('select unique_key from stint.job where id = $1', [edited.id])).toEqual([
      { unique_key: uniqueKey },
    ])
  })

  test('a replay with an input that does not fit the contract changes nothing', async () => {
    const id = await deadMail()
    await expect(scene.stint.dead.replay(id, { contract: mail, input: { to: '' } })).rejects.toMatchObject({
      code: 'invalid-input',
      issues: [{ path: 'input.to' }],
    })
    await expect(scene.stint.dead.replay(id, { contract: charge, input: {} })).rejects.toMatchObject({
      code: 'state-changed',
      message: expect.stringContaining("'mail.send'") as string,
    })
    expect(await scene.stint.dead.get(id)).toMatchObject({ replacedBy: null })
  })

  test('a replay with another input is refused where a live job has the unique key of that input', async () => {
    const [order, other] = [randomUUID(), randomUUID()]
    const { id } = await scene.stint.enqueue(charge, { order })
    await bury(scene.db, id)
    const holder = await scene.stint.enqueue(charge, { order: other })
    await expect(
      scene.stint.dead.replay(id, { contract: charge, input: { order: other } }),
    ).rejects.toMatchObject({
      code: 'duplicate-job',
      jobIds: [holder.id],
    })
    expect(await scene.stint.dead.get(id)).toMatchObject({ replacedBy: null })
    const edited = await scene.stint.dead.replay(id, { contract: charge, input: { order, amount: 3 } })
    expect(await scene.stint.enqueue(charge, { order })).toMatchObject({ id: edited.id, duplicate: true })
  })

  test('20 concurrent replays with another input make one job', async () => {
    const correlationId = randomUUID()
    const id = await deadMail({ correlationId })
    const edits = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) =>
        scene.stint.dead.replay(id, { contract: mail, input: { to: `user${n}` } }),
      ),
    )
    expect(edits.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(
      (await scene.stint.list({ correlationId })).jobs.filter(({ state }) => state !== 'dead'),
    ).toHaveLength(1)
  })

  test.each(['before', 'after'] as const)(
    'a replay with another input whose connection dies %s its commit makes one job',
    async (when) => {
      const correlationId = randomUUID()
      const id = await deadMail({ correlationId })
      const proxy = await startFaultProxy(scene.db.url)
      const client = new Stint({ connection: proxy.url })
      const cut = proxy.cutNext({ text: 'commit', when })
      const edited = await client.dead.replay(id, { contract: mail, input: { to: 'bob' } })
      await cut
      expect(await client.dead.get(id)).toMatchObject({ replacedBy: edited.id })
      expect((await client.list({ correlationId })).jobs).toHaveLength(2)
      await client.close()
    },
  )

  test('a replay with a large input moves it to the blob store, and back', async () => {
    const text = 'x'.repeat(100_000)
    const { id } = await scene.stint.enqueue(mail, { to: 'ana', text })
    await bury(scene.db, id)
    expect(await scene.stint.dead.get(id)).toMatchObject({ input: { to: 'ana', text } })
    const edited = await scene.stint.dead.replay(id, { contract: mail, input: { to: 'bob', text } })
    expect(edited).toMatchObject({ input: { to: 'bob', text }, inputBlob: expect.any(String) as string })

    const second = await scene.stint.enqueue(mail, { to: 'ana', text })
    await bury(scene.db, second.id)
    expect(await scene.stint.dead.replay(second.id)).toMatchObject({ input: { to: 'ana', text } })
    expect(await scene.stint.pruneBlobs({ grace: 0 })).toEqual({ unused: 0, orphaned: 0 })

    await bury(scene.db, edited.id)
    const small = await scene.stint.dead.replay(edited.id, { contract: mail, input: { to: 'eve' } })
    expect(small).toMatchObject({ inputBlob: null, replaces: edited.id })
    await expect(
      scene.stint.dead.replay(edited.id, { contract: mail, input: { to: 'zoe', text } }),
    ).rejects.toMatchObject({ code: 'state-changed' })
    expect(await scene.stint.pruneBlobs({ grace: 0 })).toEqual({ unused: 0, orphaned: 0 })
  })
})
