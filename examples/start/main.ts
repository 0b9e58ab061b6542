// `npm start`: PostgreSQL from npm, the schema, then a producer, two workers and the console in processes of their own,
// and a live view.
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Stint } from 'stint'
import { startEmbedded } from 'stint/embedded'
import { drawScreen, summaryLine } from './screen.ts'

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

const news: string[] = []
let dashboard: string | undefined
const children = new Map<string, ChildProcess>()
const ended = new Set<number>()

/** Runs a program, and starts it again if it dies before we stop: what systemd or Kubernetes does elsewhere. */
function keepRunning(name: string, file: string): void {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), {
    env: { ...process.env, DATABASE_URL: server.url, STINT_LOG_LEVEL: 'silent' },
    // Not in our terminal's process group, so that we pass on Ctrl-C ourselves.
    detached: true,
  })
  children.set(name, child)
  // The system may give the id of an ended process to a new one.
  if (child.pid !== undefined) ended.delete(child.pid)
  child.on('message', (said: { refused?: string; dashboard?: string }) => {
    if (said.refused !== undefined) news.push(`input refused: ${said.refused}`)
    if (said.dashboard !== undefined) showDashboard(said.dashboard)
  })
  child.on('exit', (code, signal) => {
    if (child.pid !== undefined) ended.add(child.pid)
    if (stopped.signal.aborted) return
    const after = name.startsWith('worker') ? '; its jobs run again when its lease is over' : ''
    news.push(`${name} ended (${signal ?? code})${after}`)
    setTimeout(() => {
      if (!stopped.signal.aborted) keepRunning(name, file)
    }, 1_000)
  })
}

function showDashboard(address: string): void {
  // A terminal shows the address all the time; a log has it once, with the sign-in link.
  if (!process.stdout.isTTY && dashboard === undefined) console.log(`The dashboard is at ${address}`)
  dashboard = address
}

keepRunning('console', 'console.ts')
keepRunning('producer', 'producer.ts')
keepRunning('worker 1', 'run-worker.ts')
keepRunning('worker 2', 'run-worker.ts')

while (!stopped.signal.aborted) {
  const [status, { jobs }] = await Promise.all([stint.status(), stint.list({ limit: 12 })])
  console.log(
    process.stdout.isTTY
      ? drawScreen(status, { jobs, dashboard, news: news.slice(-4), ended })
      : summaryLine(status, ended),
  )
  await pause(1_000, undefined, { signal: stopped.signal }).catch(() => undefined)
}

console.log('Stopping …')
await Promise.all(
  [...children.values()].map(async (child) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }),
)
await stint.close()
await server.release()
console.log('Stopped. The jobs are kept in .stint/postgres for the next start.')
