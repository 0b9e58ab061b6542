// Runs the code of docs/guides/recurring-by-hand.md as it stands there.
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { defineJob } from '../src/index.ts'
import { documentedFile } from './support/documented-file.ts'
import { start } from './support/processes.ts'
import { repository } from './support/worker-process.ts'
import { eventually, workerScene } from './support/workers.ts'

const scene = workerScene()

/** The same contract as in the guide, to begin a chain with. */
const pollFeed = defineJob({
  kind: 'feed.poll',
  queue: 'feeds',
  unique: { by: (input) => (input as { url: string }).url },
})

/** A feed whose answers the test controls. */
async function startFeed(): Promise<{ url: string; asked: () => Promise<ServerResponse> }> {
  const waiting: ServerResponse[] = []
  const server = createServer((_request, response) => void waiting.push(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed`,
    asked: async () => {
      await eventually(() => Promise.resolve(waiting.length > 0), 'the feed is asked')
      return waiting.shift() as ServerResponse
    },
  }
}

interface Link extends Record<string, unknown> {
  id: string
  place: string
  state: string
  at: Date
}

/** All jobs of the chain, in the order in which they were made. */
function chain(): Promise<Link[]> {
  return scene.db.query<Link>(
    `select id, place, state::text, date_trunc('milliseconds', run_at) as at from stint.jobs where kind = 'feed.poll' order by id`,
  )
}

/** Waits until the chain has so many jobs and the last one is waiting. Returns the job before it. */
async function grown(links: number): Promise<{ last: Link; before: Link | undefined }> {
  const isSo = async (): Promise<boolean> => {
    const all = await chain()
    return all.length === links && all.at(-1)?.state === 'scheduled'
  }
  await eventually(isSo, `there are ${links} jobs, and the last one waits`)
  const all = await chain()
  expect(all.slice(0, -1).map(({ state }) => state)).toEqual(all.slice(1).map(() => 'succeeded'))
  const last = all.at(-1)
  if (last === undefined) throw new Error('There is no job')
  return { last, before: all.at(-2) }
}

const minuteMs = 60_000

test('a chain of jobs that enqueue their next occurrence neither breaks nor forks, through a kill and a dead letter', async () => {
  const feed = await startFeed()
  const cli = join(repository, 'dist/cli/main.js')
  const args = [cli, 'work', await documentedFile('recurring-by-hand.md'), '--processes', '1']
  const working = start(process.execPath, args, { env: { ...process.env, DATABASE_URL: scene.db.url } })
  onTestFinished(async () => {
    working.child.kill('SIGTERM')
    await working.finished
  })
  const runNow = ({ id }: Link): Promise<unknown> => scene.stint.reschedule(id, { delay: 0 })

  // A chain that is begun several times is still one chain.
  const first = await scene.stint.enqueue(pollFeed, { url: feed.url })
  expect(await scene.stint.enqueue(pollFeed, { url: feed.url })).toMatchObject({
    id: first.id,
    duplicate: true,
  })
  const asked = await feed.asked()
  expect((await scene.stint.enqueue(pollFeed, { url: feed.url })).duplicate).toBe(true)
  asked.end('news')
  const second = await grown(2)
  expect(second.last.at.getTime() - (second.before?.at.getTime() ?? 0)).toBe(5 * minuteMs)

  await runNow(second.last)
  ;(await feed.asked()).end()
  const third = await grown(3)
  expect(third.last.at.getTime() - (third.before?.at.getTime() ?? 0)).toBe(60 * minuteMs)

  // The worker is killed in the middle of the job: it runs again, and has one successor.
  await runNow(third.last)
  await feed.asked()
  const [worker] = await scene.db.query<{ pid: number }>(
    `select (about ->> 'pid')::integer as pid from stint.worker where lost_at is null`,
  )
  if (worker === undefined) throw new Error('No worker lives')
  process.kill(worker.pid, 'SIGKILL')
  ;(await feed.asked()).end('news')
  const fourth = await grown(4)

  // The job dies for good, which ends the chain; its replay continues it.
  await runNow(fourth.last)
  ;(await feed.asked()).writeHead(410).end()
  const isDead = async (): Promise<boolean> => (await scene.stint.get(fourth.last.id))?.state === 'dead'
  await eventually(isDead, 'it is dead')
  expect((await chain()).map(({ state }) => state)).toEqual(['succeeded', 'succeeded', 'succeeded', 'dead'])
  await scene.stint.dead.replay(fourth.last.id)
  ;(await feed.asked()).end('news')
  await grown(5)
})
