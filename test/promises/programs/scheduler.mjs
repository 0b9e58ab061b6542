// Ticks for schedules as fast as it can, on the built package. It reports each tick before it begins, so that a test
// can kill it there.
import { Database } from '#dist/db/database'
import { tick } from '#dist/schedules/fires/tick'

const [url] = process.argv.slice(2)
const db = new Database({
  url,
  schema: 'stint',
  poolSize: 2,
  deadlineMs: 10_000,
  applicationName: 'scheduler',
})
for (;;) {
  process.send('tick')
  await tick(db, new Map()).catch((error) => {
    process.send(String(error))
  })
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
}
