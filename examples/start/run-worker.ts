// What `stint work worker.ts` does, for a process of this example.
import { worker } from './worker.ts'

// This process ends when the parent process is gone.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
await worker.run()
if (process.connected) process.disconnect()
