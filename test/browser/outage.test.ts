import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { createConsole } from '../../src/server.ts'
import { openOwnServer } from '../support/own-server.ts'
import type { OwnServer } from '../support/own-server.ts'
import { contracts, sendMail } from './shop.ts'
import { keepScreen, settled, stage } from './stage.ts'

let server: OwnServer | undefined
// With the usual limits: this test is about a console whose database is down.
const given = stage(
  { contracts },
  {
    openConsole: createConsole,
    openDatabase: async () => {
      server = await openOwnServer()
      return server.db
    },
  },
)
const mail = (name: string) => ({ to: `${name}@example.com`, template: 'welcome' as const })

function readyIn(page: Page, queue: string): Promise<string | undefined> {
  const cell = page.getByRole('row', { name: new RegExp(queue) }).locator('td')
  return cell
    .first()
    .textContent()
    .then((text) => text?.trim())
}

test('open and new screens say that the database is down, and recover without a reload', async () => {
  const queue = 'outlived'
  await given.stint.enqueue(sendMail, mail('a'), { queue })
  const page = await given.open('')
  const other = await page.context().newPage()
  await other.goto(`${given.url}workers`)
  await settled(other)
  await expect.poll(() => readyIn(page, queue)).toBe('1')
  // A reload would remove this mark.
  for (const each of [page, other]) await each.evaluate('globalThis.isTheSame = true')
  const banner = page.getByRole('alert').filter({ hasText: 'The database has not answered since' })

  await server?.stop('fast')
  try {
    await banner.waitFor()
    // The stream says it, and maybe also a part of the screen that sent a request just then.
    await other.getByRole('alert').filter({ hasText: 'The database does not answer' }).first().waitFor()
    // The last figures stay, and no address, statement or password of the database is shown.
    expect(await readyIn(page, queue)).toBe('1')
    const text = (await page.locator('body').textContent()) ?? ''
    expect(text).not.toMatch(/ECONNREFUSED|postgres:|127\.0\.0\.1|terminating/)
    // The header does not say "live".
    await page.locator('.data-age-down', { hasText: 'database down' }).waitFor()
    await keepScreen(page, 'database-down')
    // A screen that is opened now has nothing to show, and says why.
    await other.getByRole('link', { name: 'Jobs', exact: true }).click()
    await other.locator('main .note-fail').nth(1).waitFor()
    await keepScreen(other, 'database-down-new-screen')
  } finally {
    await server?.start()
  }
  await given.stint.enqueue(sendMail, mail('b'), { queue })
  await banner.waitFor({ state: 'detached' })
  await expect.poll(() => readyIn(page, queue)).toBe('2')
  await other.locator('[data-row]').nth(1).waitFor()
  // The stream may report the end of the outage after the jobs are there.
  await expect.poll(() => other.locator('main .note-fail').count()).toBe(0)
  for (const each of [page, other]) expect(await each.evaluate('globalThis.isTheSame')).toBe(true)
}, 180_000)
