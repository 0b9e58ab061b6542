import { expect, test } from 'vitest'
import { startFor } from '../support/workers.ts'
import { contracts, sendMail } from './shop.ts'
import { pressPair, shown, stage } from './stage.ts'

const given = stage({ contracts })

test('an empty console says so, and how to begin', async () => {
  const page = await given.open('')
  await page.getByText('No queue has had a job yet.').waitFor()
  expect(await page.title()).toBe('Overview · Stint')
  expect(await page.locator('.environment').textContent()).toBe('test')
  expect(await page.locator('.actor').textContent()).toBe('adaadmin')
  for (const [screen, words] of [
    ['Jobs', 'No jobs yet.'],
    ['Dead letters', 'No open dead letters.'],
    ['Operations', 'No operations yet.'],
    ['Schedules', 'There are no schedules.'],
    ['Workers', 'No worker is alive or was alive in the last hour.'],
  ] as const) {
    await page.getByRole('link', { name: screen, exact: true }).click()
    await page.getByText(words).waitFor()
    // A screen reader hears where the link led, also where the screen had to be loaded first.
    await page.locator('#main h1:focus').waitFor()
  }
})

test('problems come first, and every number leads to the jobs behind it', async () => {
  await given.stint.enqueueMany(
    sendMail,
    ['ana', 'bo', 'cy'].map((name) => ({ to: `${name}@example.com`, template: 'welcome' as const })),
  )
  const page = await given.open('')
  const problem = page.locator('.problem', { hasText: 'No worker serves mail' })
  await problem.waitFor()
  expect(await problem.getByRole('link').getAttribute('href')).toBe('/queues/mail')
  const row = page.getByRole('row', { name: /mail/ })
  expect(await row.locator('td').first().textContent()).toContain('3')
  await row.locator('td').first().getByRole('link').click()
  await page.waitForURL('**/jobs?where=*')
  expect(await page.getByLabel('Filter', { exact: true }).inputValue()).toBe('state:ready queue:mail')
  await page.locator('[data-row]').nth(2).waitFor()
  expect(await page.locator('[data-row]').count()).toBe(3)

  // A worker starts and does the work: the screen follows by itself.
  await page.goto(given.url)
  await page.locator('.problem', { hasText: 'No worker serves mail' }).waitFor()
  // The pointer moves away, because rows under the pointer do not move.
  await page.mouse.move(5, 5)
  await startFor(given, sendMail, () => undefined)
  await page.locator('.problem', { hasText: 'No worker serves mail' }).waitFor({ state: 'detached' })
  await page.locator('.data-age-live').waitFor()
})

test('a range that is longer than the system is old begins where its figures begin', async () => {
  const page = await given.open('?range=7d')
  await page.getByText(/^Figures begin /).waitFor()
  await page.getByText('Show as a table').first().click()
  const times = await page.locator('.chart').first().locator('tbody time').all()
  const [first] = await Promise.all(times.map((time) => time.getAttribute('datetime')))
  expect(Date.now() - Date.parse(first ?? '')).toBeLessThan(3_600_000)
  // Minute by minute, and not in steps of hours of which the first is not over.
  expect(times.length).toBeGreaterThan(5)
})

test('the jump bar leads to screens, queues and jobs; keys lead to screens and can be switched off', async () => {
  const { id } = await given.stint.enqueue(
    sendMail,
    { to: 'dee@example.com', template: 'receipt' },
    { delay: '1h' },
  )
  const page = await given.open('')
  await page.keyboard.press('Control+k')
  await page.locator('[role=combobox]:focus').waitFor()
  await page.keyboard.type(id)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: /mail\.send/ }).waitFor()
  await page.keyboard.press('Control+k')
  await page.locator('[role=combobox]:focus').waitFor()
  await page.keyboard.type('mai')
  await page.getByRole('option', { name: /^mail queue/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL('**/queues/mail')

  await pressPair(page, ['g', 'd'], 'dead')
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await page.getByLabel('Enable shortcuts of a single letter').uncheck()
  await page.keyboard.press('Escape')
  await page.keyboard.press('g')
  await page.keyboard.press('w')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Jump to' }).waitFor()
  expect(page.url()).toMatch(/\/dead$/)
})

test('a chosen theme stays', async () => {
  const page = await given.open('', { colorScheme: 'light' })
  const ground = (): Promise<string> =>
    page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
  const light = await ground()
  const button = page.getByRole('button', { name: /^Theme/ })
  await button.click()
  await button.click()
  await page.getByRole('button', { name: /^Theme: dark/ }).waitFor()
  const dark = await ground()
  expect(dark).not.toBe(light)
  await page.reload()
  await shown(page)
  expect(await ground()).toBe(dark)
})
