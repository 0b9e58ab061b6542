// Makes the pictures of the README, docs/images/*.png, from a console with an hour of example data: `npm run
// screenshots`.
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import pg from 'pg'
import { Stint } from '../src/index.ts'
import { startEmbedded } from '../src/embedded/start.ts'
import { createConsole, nodeListener } from '../src/server.ts'
import { beginLife } from '../test/browser/life.ts'
import { contracts } from '../test/browser/shop.ts'
import { launchChromium } from '../test/support/chromium.ts'
import { eventually } from '../test/support/eventually.ts'

const images = join(import.meta.dirname, '../docs/images')
const dir = await mkdtemp(join(tmpdir(), 'stint-screenshots-'))
const server = await startEmbedded({ dir })
const pool = new pg.Pool({ connectionString: server.url })
const stint = new Stint({ connection: server.url })
await stint.migrate()
const db = {
  query: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> =>
    (await pool.query<Row>(text, values)).rows,
}
// Starts at the beginning of a minute and takes the pictures before it is over: a whole minute of real figures would look
// small beside the planted ones.
const intoMinuteMs = Date.now() % 60_000
if (intoMinuteMs > 5_000) await pause(60_000 - intoMinuteMs)
const life = await beginLife({ db, stint, connection: server.url })
// Workers elect a leader and count within seconds; before that there are no figures.
await eventually(async () => {
  const gauges = await stint.gauges()
  const leaders = await db.query('select from stint.leader where until > now()')
  const counted = gauges.find(({ queue }) => queue === 'exports')
  if (leaders.length === 0 || counted?.ready !== 3) throw new Error('No worker has counted yet')
})
const served = createConsole({
  connection: server.url,
  contracts,
  environment: 'production',
  auth: () => ({ actor: 'ana', role: 'admin' }),
})
const listening = createServer(nodeListener(served))
await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}/`
const browser = await launchChromium()

interface Shot {
  name: string
  path: string
  colorScheme: 'light' | 'dark'
  /** A selector that matches once the screen is complete. */
  ready: string
  height?: number
  before?: (page: Page) => Promise<void>
}

const overview = { path: '', ready: '.plot canvas >> nth=2', height: 900 } as const
const shots: Shot[] = [
  { name: 'overview', colorScheme: 'light', ...overview },
  { name: 'overview-dark', colorScheme: 'dark', ...overview },
  { name: 'job', path: `jobs/${life.deadJob}`, colorScheme: 'light', ready: '.timeline', height: 720 },
  {
    name: 'replay',
    path: `dead?group=${life.group}&panel=op-replay`,
    colorScheme: 'dark',
    ready: 'dialog .preview-sum',
    height: 620,
    before: async (page) => {
      await page.getByLabel('Canary: first').check()
      await page.getByLabel('Jobs of the canary').fill('3')
      await page.getByLabel('Reason, for the audit').fill('fixed in v215')
      await page.locator('dialog .cli code', { hasText: '--canary 3' }).waitFor()
    },
  },
]
await mkdir(images, { recursive: true })
for (const { name, path, colorScheme, ready, height = 800, before } of shots) {
  const context = await browser.newContext({
    ...{ colorScheme, locale: 'en-US', timezoneId: 'UTC', reducedMotion: 'reduce' },
    viewport: { width: 1280, height },
  })
  const page = await context.newPage()
  await page.goto(`${url}${path}`)
  await page.waitForSelector(ready)
  await page.locator('.data-age-live').waitFor()
  await before?.(page)
  await page.screenshot({ path: join(images, `${name}.png`) })
  console.log(`docs/images/${name}.png`)
  await context.close()
}

await browser.close()
listening.closeAllConnections()
listening.close()
await served.close()
await life.stop()
await stint.close()
await pool.end()
await server.release()
await rm(dir, { recursive: true, force: true })
