/*
 * A part of a worker that neither succeeds nor fails cannot be repaired from within, so its process reports itself as
 * unhealthy and ends with an error. Real processes; in each, one statement never gets an answer and never times out.
 */
import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { createLedger } from '../support/ledger.ts'
import type { Ledger } from '../support/ledger.ts'
import { startWorker } from '../support/worker-process.ts'
import { workerScene } from '../support/workers.ts'

const scene = workerScene()

/** By the name of the part in the health report: the statement that hangs, and what causes it to be sent. */
const parts: Record<string, { statement: string; delay?: string }> = {
  "claim of 'hangs.claim'": { statement: '/* jobs/claim.sql */' },
  settle: { statement: '/* jobs/succeed.sql */' },
  survey: { statement: '/* jobs/survey.sql */' },
  promote: { statement: '/* worker/recovery/promote.sql */', delay: '1s' },
  sweep: { statement: '/* jobs/leases/bury.sql */' },
  listen: { statement: 'listen "' },
}

// All at once: each process waits for more than a minute.
test('a process with a part that makes no progress becomes unhealthy and then ends with an error', async () => {
  const ledger = await createLedger()
  const stories = await Promise.all(Object.keys(parts).map((part) => endOf(part, ledger)))
  expect(Object.fromEntries(stories)).toEqual(
    Object.fromEntries(
      Object.keys(parts).map((part) => [
        part,
        {
          verdict: { ok: false, problems: [expect.stringMatching(`^'${part}' has come to no answer for`)] },
          exit: { code: 1, signal: null },
          reason: expect.stringMatching(`^'${part}' has come to no answer for`) as string,
        },
      ]),
    ),
  )
}, 240_000)

async function endOf(part: string, ledger: Ledger): Promise<[part: string, story: object]> {
  const { statement, delay } = parts[part] ?? { statement: '' }
  const queue = `hangs.${part.split(' ')[0] ?? ''}`
  const program = new URL(`programs/hang.mjs?statement=${encodeURIComponent(statement)}`, import.meta.url)
  const worker = await startWorker(ledger, {
    name: part,
    jobs: [{ kind: 'work', queue }],
    execArgv: ['--import', program.href],
    options: {
      connection: scene.db.url,
      queues: { [queue]: 1 },
      lease: '10s',
      sweepEvery: '1s',
      health: { port: 0, host: '127.0.0.1' },
    },
  })
  const { healthPort } = await ledger.wrote({ name: 'ready', worker: part })
  const ask = async (): Promise<Response> => fetch(`http://127.0.0.1:${String(healthPort)}/healthz`)
  expect((await ask()).status).toBe(200)
  await scene.stint.enqueue(defineJob({ kind: 'work', queue }), {}, delay === undefined ? {} : { delay })
  await expect.poll(async () => (await ask()).status, { timeout: 90_000, interval: 500 }).toBe(503)
  const verdict = (await (await ask()).json()) as object
  const exit = await worker.exited
  const [fatal] = ledger.lines({ type: 'fatal', worker: part })
  return [part, { verdict, exit, reason: fatal?.['message'] }]
}
