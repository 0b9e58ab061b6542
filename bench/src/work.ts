// A worker process: runs one system's worker with a handler that only records, and answers with the records. The
// measuring process (measure.ts) starts one or several, and is the only process that talks to them.
import { now } from './clock.ts'
import type {
  FromWorker,
  Mark,
  Note,
  Started,
  ToWorker,
  WorkerOrder,
  WorkerReport,
} from './measures/worker-messages.ts'
import { systemNamed } from './systems/all.ts'
import type { PreparedWorker } from './systems/system.ts'

let worker: PreparedWorker | undefined
let runs = 0
let first: Mark | undefined
const marks: Mark[] = []
const starts: Started[] = []

process.on('message', (message: ToWorker) => {
  carryOut(message).then(say, (error: unknown) => {
    say({ type: 'error', message: error instanceof Error ? error.message : String(error) })
  })
})
// The measuring process is gone, so no process reads the answers.
process.once('disconnect', () => process.exit(1))

async function carryOut(message: ToWorker): Promise<FromWorker> {
  switch (message.type) {
    case 'prepare':
      worker = await prepare(message.order)
      return { type: 'prepared' }
    case 'start':
      await worker?.start()
      return { type: 'started' }
    case 'count':
      return { type: 'count', runs }
    case 'report':
      return { type: 'report', report: report() }
    case 'stop':
      await worker?.stop()
      return { type: 'stopped' }
    default:
      return message satisfies never
  }
}

function prepare({ system, url, tuning, note, ...work }: WorkerOrder): Promise<PreparedWorker> {
  return systemNamed(system).prepareWorker(url, tuning, { ...work, run: handler(note) })
}

/** Recording is as cheap as possible, because it is part of what is measured. */
function handler(note: Note): (n: number) => void {
  switch (note.type) {
    case 'marks':
      return () => {
        if (runs === 0) first = mark()
        runs++
        if (runs % note.every === 0) marks.push(mark())
      }
    case 'starts':
      return (n) => {
        starts.push({ n, at: now() })
        runs++
      }
    case 'each':
      return (n) => {
        const at = now()
        runs++
        // Sent after the handler has returned: sending is no part of running.
        setImmediate(() => {
          say({ type: 'ran', started: { n, at } })
        })
      }
    default:
      return note satisfies never
  }
}

function mark(): Mark {
  const { user, system } = process.cpuUsage()
  return { at: now(), rssMb: process.memoryUsage.rss() / 2 ** 20, cpuMicros: user + system }
}

function report(): WorkerReport {
  return { runs, first, marks, starts, ...mark() }
}

function say(message: FromWorker): void {
  process.send?.(message)
}
