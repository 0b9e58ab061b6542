// Makes the pictures of the README, docs/images/*.png, from a console with a believable afternoon in it: `npm run screenshots`.
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { Stint } from '../src/entry/index.ts'
import { startEmbedded } from '../src/embedded/start.ts'
import { createConsole, nodeListener } from '../src/entry/server.ts'
import { beginLife } from '../test/browser/life.ts'
import { contracts } from '../test/browser/shop.ts'
import { launchChromium } from '../test/support/chromium.ts'

const images = join(import.meta.dirname, '../docs/images')
const dir = await mkdtemp(join(tmpdir(), 'stint-screenshots-'))
const server = await startEmbedded({ dir, fsync: 'off' })
const pool = new pg.Pool({ connectionString: server.url })
const stint = new Stint({ connection: server.url })
await stint.migrate()
const db = {
  query: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> =>
    (await pool.query<Row>(text, values)).rows,
}
const life = await beginLife({ db, stint, connection: server.url })
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

const shots = [
  { name: 'overview', path: '', colorScheme: 'light', ready: '.plot canvas >> nth=2' },
  { name: 'overview-dark', path: '', colorScheme: 'dark', ready: '.plot canvas >> nth=2' },
  { name: 'job', path: `jobs/${life.deadJob}`, colorScheme: 'light', ready: '.timeline' },
  {
    name: 'replay',
    path: `dead?group=${life.group}&panel=op-replay`,
    colorScheme: 'dark',
    ready: 'dialog .preview-sum',
  },
] as const
await mkdir(images, { recursive: true })
for (const { name, path, colorScheme, ready } of shots) {
  const context = await browser.newContext({
    ...{ colorScheme, locale: 'en-US', timezoneId: 'UTC' },
    viewport: { width: 1280, height: 800 },
  })
  const page = await context.newPage()
  await page.goto(`${url}${path}`)
  await page.waitForSelector(ready)
  await page.locator('.data-age-live').waitFor()
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
