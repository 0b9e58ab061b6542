// `npm start`: PostgreSQL from npm, the schema, a producer in a process of its own, and a view of the jobs it stores.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Stint } from 'stint'
import { startEmbedded } from 'stint/embedded'
import { drawScreen, lineFor } from './screen.ts'

const stopped = new AbortController()
const stop = (): void => {
  stopped.abort()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)

console.log('Starting PostgreSQL …')
const server = await startEmbedded()
const stint = new Stint({ connection: server.url })
const { version } = await stint.migrate()
console.log(
  `PostgreSQL is up at ${server.url.replace(/:[^:@]+@/, ':…@')} (data in .stint/postgres), schema at version ${version}.`,
)

const producer = fork(fileURLToPath(new URL('producer.ts', import.meta.url)), {
  env: { ...process.env, DATABASE_URL: server.url },
  // Not in our terminal's process group: Ctrl-C is ours to hand on.
  detached: true,
})
const producerEnded = once(producer, 'exit')
const refusals: string[] = []
producer.on('message', ({ refused }: { refused: string }) => refusals.push(refused))
producer.on('exit', stop)

let newest = ''
while (!stopped.signal.aborted) {
  const { jobs } = await stint.list({ limit: 15 })
  if (process.stdout.isTTY) console.log(drawScreen(jobs, refusals.at(-1)))
  else for (const job of jobs.filter(({ id }) => id > newest).reverse()) console.log(lineFor(job))
  newest = jobs[0]?.id ?? newest
  await pause(1_000, undefined, { signal: stopped.signal }).catch(() => undefined)
}

console.log('Stopping …')
producer.kill('SIGTERM')
await producerEnded
await stint.close()
await server.release()
console.log('Stopped. The jobs are kept in .stint/postgres for the next start.')
