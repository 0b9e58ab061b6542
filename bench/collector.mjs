// What counting costs a job, by itself: started() and settled() of src/worker/report/numbers.ts, on jobs of 4 queues and 8 kinds.
//   npm run build && node bench/collector.mjs
import { Numbers } from '../dist/worker/numbers.js'

const jobs = Array.from({ length: 1_000 }, (_, n) => ({
  startedAt: 0,
  job: {
    queue: `queue.${n % 4}`,
    kind: `kind.${n % 8}`,
    attempt: 1,
    runAt: `2026-11-16 04:00:${String(Math.floor(n / 20)).padStart(2, '0')}.${String(100_000 + n)}`,
  },
}))
const numbers = new Numbers({ db: {}, process: 'bench', version: null, events: {}, log: {} })
const succeeded = { type: 'succeeded', result: undefined, children: [] }
const endings = jobs.map((held) => ({ held, outcome: succeeded, ranMs: Math.random() * 50 }))

function round() {
  for (let n = 0; n < jobs.length; n++) {
    jobs[n].startedAt = performance.now()
    numbers.started(jobs[n])
    numbers.settled(endings[n])
  }
}

function clockOnly() {
  for (const held of jobs) held.startedAt = performance.now()
}

const nsPerJob = (work) => {
  // Time on the processor: what else the machine does is not counted.
  const since = process.cpuUsage()
  for (let n = 0; n < 1_000; n++) work()
  const { user, system } = process.cpuUsage(since)
  return ((user + system) * 1e3) / (1_000 * jobs.length)
}
nsPerJob(round)
nsPerJob(clockOnly)
const best = (work) => Math.min(...Array.from({ length: 7 }, () => nsPerJob(work)))
const [whole, clock] = [best(round), best(clockOnly)]
console.log(
  `${(whole - clock).toFixed(0)} ns a job (with the clock that the dispatcher reads anyway: ${whole.toFixed(0)})`,
)
