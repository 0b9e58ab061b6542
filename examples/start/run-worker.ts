// What `stint work worker.ts` does, for a process of this example.
import { worker } from './worker.ts'

await worker.run()
process.disconnect()
