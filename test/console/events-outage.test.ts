import { expect, onTestFinished, test } from 'vitest'
import { Stint } from '../../src/index.ts'
import { SharedReads } from '../../src/server/answers/shared-reads.ts'
import { liveSource } from '../../src/server/live/source.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { standStill } from '../support/stand-still.ts'
import { workerScene } from '../support/workers.ts'
import { look, newJobId, openLive, priorityIn } from './live-scene.ts'

const scene = workerScene()

test('all viewers learn that the database is down and back, and then get what they missed', async () => {
  const proxy = await startFaultProxy(scene.db.url)
  const own = new Stint({ connection: proxy.url, timeout: '3s', notify: false })
  onTestFinished(() => own.close())
  const id = await newJobId(scene.stint)
  const live = openLive(own)
  const reader = look(live, `job:${id}`)
  await reader.tells(({ event }) => event === 'snapshot')
  const heal = proxy.blackhole()
  const trouble = await reader.tells(({ event }) => event === 'trouble')
  expect(trouble.data).toEqual({
    detail: expect.any(String) as string,
    since: expect.any(String) as string,
  })
  expect(JSON.stringify(trouble.data)).not.toMatch(/select|127\.0\.0\.1|localhost/)
  const late = look(live, `job:${id}`)
  await late.tells(({ event }) => event === 'trouble', 'trouble for who comes later')
  await scene.stint.reprioritize(id, 6)
  // Not awaited: it resolves when the caught connections have ended, and they need not end.
  void heal()
  await reader.tells(({ event }) => event === 'healed')
  await reader.until(() => priorityIn(reader) === 6, 'what changed meanwhile')
  await late.until(() => priorityIn(late) === 6, 'what it has not seen')
})

test('a console that stood still does not report the database as down', async () => {
  const source = liveSource(scene.stint, new SharedReads(scene.stint))
  const stood = { isOver: false }
  const live = openLive(scene.stint, {
    source: {
      ...source,
      jobs: (ids) => {
        const answer = source.jobs(ids)
        // Longer than the console waits for the database: its timer fires before it can read the answer.
        if (!stood.isOver) standStill(3_300)
        stood.isOver = true
        return answer
      },
    },
  })
  const reader = look(live, `job:${await newJobId(scene.stint)}`)
  await reader.tells(({ event }) => event === 'snapshot')
  expect(reader.events.map(({ event }) => event)).toEqual(['snapshot'])
})
