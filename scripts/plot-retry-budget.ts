// Draws docs/images/retry-budget.svg from two real runs, with and without a retry budget: `npm run plot:retry-budget`. In each,
// 10,000 jobs fail at once and are retried after about 5 seconds.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '../src/embedded/start.ts'
import { defineJob, defineQueue, Stint } from '../src/index.ts'
import { Worker } from '../src/worker.ts'

const jobs = 10_000
const budget = { share: 0.2, least: 10, window: '2s' }

interface Run {
  name: string
  color: string
  /** Attempts that started in each second. */
  perSecond: number[]
}

const dir = mkdtempSync(join(tmpdir(), 'stint-plot-'))
const server = await startEmbedded({ dir })
const stint = new Stint({ connection: server.url })
try {
  await stint.migrate()
  const runs = [
    { name: 'without a budget', color: '#c2410c', perSecond: await perSecond('without', false) },
    {
      name: `with a retry budget of ${budget.share}`,
      color: '#1d4ed8',
      perSecond: await perSecond('with', true),
    },
  ]
  writeFileSync(join(import.meta.dirname, '../docs/images/retry-budget.svg'), chart(runs))
  for (const run of runs) process.stdout.write(`${run.name}: ${run.perSecond.join(' ')}\n`)
} finally {
  await stint.close()
  await server.release()
  rmSync(dir, { recursive: true, force: true })
}

async function perSecond(queue: string, hasBudget: boolean): Promise<number[]> {
  const job = defineJob({ kind: 'call', queue, retry: { backoff: ['5s'] } })
  await stint.enqueueMany(job, Array.from({ length: jobs }).fill({}))
  const flow = hasBudget ? [defineQueue({ name: queue, retryBudget: budget })] : []
  const worker = new Worker({ connection: server.url, queues: { [queue]: 50 }, flow, log: false })
  const counts: number[] = []
  let startedAt: number | undefined
  worker.handle(job, (_input, ctx) => {
    startedAt ??= performance.now()
    const second = Math.floor((performance.now() - startedAt) / 1_000)
    while (counts.length <= second) counts.push(0)
    counts[second] = (counts[second] ?? 0) + 1
    if (ctx.attempt === 1) throw new Error('The downstream is down')
  })
  let left = jobs
  const done = new Promise<void>((resolve) => {
    worker.on('succeeded', () => {
      if (--left === 0) resolve()
    })
  })
  await worker.start()
  await done
  await worker.stop()
  return counts
}

function chart(runs: readonly Run[]): string {
  const [width, height, left, top, right, bottom] = [880, 380, 70, 50, 20, 50]
  const seconds = Math.max(...runs.map((run) => run.perSecond.length)) + 1
  const most = Math.ceil(Math.max(...runs.flatMap((run) => run.perSecond)) / 1_000) * 1_000
  const x = (second: number): string => (left + (second / seconds) * (width - left - right)).toFixed(1)
  const y = (count: number): string => (height - bottom - (count / most) * (height - top - bottom)).toFixed(1)
  const rows = Array.from({ length: most / 1_000 + 1 }, (_, n) => n * 1_000).map(
    (count) => `<line x1="${left}" x2="${width - right}" y1="${y(count)}" y2="${y(count)}" stroke="#e5e5e5"/>
<text x="${left - 8}" y="${y(count)}" dy="4" text-anchor="end">${count.toLocaleString('en')}</text>`,
  )
  const columns = Array.from({ length: Math.floor(seconds / 10) + 1 }, (_, n) => n * 10).map(
    (second) => `<text x="${x(second)}" y="${height - bottom + 18}" text-anchor="middle">${second}</text>`,
  )
  const lines = runs.map(({ color, perSecond: counts }) => {
    const steps = counts.map((count, second) => `V${y(count)}H${x(second + 1)}`).join('')
    return `<path d="M${x(0)},${y(0)}${steps}V${y(0)}Z" fill="${color}" fill-opacity="0.25" stroke="${color}" stroke-width="1.5"/>`
  })
  const legend = runs.map(
    ({ name, color }, n) => `<rect x="${left + n * 200}" y="18" width="12" height="12" fill="${color}"/>
<text x="${left + 18 + n * 200}" y="28">${name}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="#404040">
<title>Attempts per second after 10,000 jobs failed at once, with and without a retry budget</title>
<rect width="${width}" height="${height}" fill="#ffffff"/>
${[...rows, ...columns, ...lines, ...legend].join('\n')}
<text x="${width - right}" y="${height - 12}" text-anchor="end">seconds since the first attempt</text>
<text x="${left}" y="${top - 8}" text-anchor="start" fill="#737373">attempts per second</text>
</svg>
`
}
