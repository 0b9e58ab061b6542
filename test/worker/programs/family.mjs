// A worker process with a parent and its children, for tests that kill it. It says 'ready' once it claims.
import { defineJob } from 'stint/contracts'
import { Worker } from 'stint/worker'

const { connection, queue } = JSON.parse(process.env.STINT_PROGRAM)
const child = defineJob({ kind: 'family.child', queue })
const parent = defineJob({ kind: 'family.parent', queue })

const worker = new Worker({
  connection,
  queues: { [queue]: 20 },
  log: false,
  lease: '3s',
  sweepEvery: '200ms',
})
worker.handle(child, ({ n }) => Promise.resolve({ twice: 2 * n }))
worker.handle(parent, async ({ children }, ctx) => {
  const inputs = Array.from({ length: children }, (_, n) => ({ n }))
  const results = await ctx.all(child, inputs, { onDead: 'collect' })
  const succeeded = results.filter(({ state }) => state === 'succeeded')
  return { children: results.length, sum: succeeded.reduce((sum, { result }) => sum + result.twice, 0) }
})
worker.on('ready', () => process.send?.('ready'))
await worker.run()
