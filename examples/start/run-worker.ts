// What `stint work worker.ts` does, for a process of this example.
import { worker } from './worker.ts'

// Without the rest there is nothing to work for.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
await worker.run()
if (process.connected) process.disconnect()
