// A process that executes operations, on the built package, until it is killed.
import { startOperationsWorker } from '../../../dist/worker/operations-worker.js'

await startOperationsWorker({ connection: process.argv[2] })
process.send('ready')
setInterval(() => undefined, 60_000)
