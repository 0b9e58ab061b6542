import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { startFor } from '../support/workers.ts'
import { contracts, sendMail } from './shop.ts'
import { stage } from './stage.ts'

const given = stage({ contracts })
const mail = (name: string) => ({ to: `${name}@example.com`, template: 'welcome' as const })

async function rowIds(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`[...document.querySelectorAll('[data-row]')].map((row) => row.dataset.row)`)
}

test('new jobs wait behind a pill: no row moves under the pointer, and the rows on screen stay up to date', async () => {
  const queue = 'still'
  const { jobs } = await given.stint.enqueueMany(sendMail, ['a', 'b', 'c', 'd'].map(mail), { queue })
  const ids = jobs.map(({ id }) => id)
  const page = await given.open(`jobs?where=queue:${queue}`)
  const third = page.locator('[data-row]').nth(2)
  await third.hover()
  const [before, place] = [await rowIds(page), await third.boundingBox()]
  expect([...before].sort()).toEqual([...ids].sort())

  await given.stint.enqueueMany(sendMail, ['e', 'f', 'g'].map(mail), { queue })
  const pill = page.getByRole('button', { name: '3 new' })
  await pill.waitFor()
  expect(await rowIds(page)).toEqual(before)
  expect(await third.boundingBox()).toEqual(place)

  await startFor(given, sendMail, () => undefined, { queues: { [queue]: 4 } })
  await page.locator('[data-row] .state-succeeded').nth(3).waitFor()
  expect(await rowIds(page)).toEqual(before)
  expect(await third.boundingBox()).toEqual(place)

  await pill.click()
  await page.locator('[data-row]').nth(6).waitFor()
  expect((await rowIds(page)).slice(3)).toEqual(before)
})

test('a new queue waits behind a pill while the pointer is on the table', async () => {
  await given.stint.enqueue(sendMail, mail('a'), { queue: 'known' })
  const page = await given.open('')
  const known = page.getByRole('link', { name: 'known', exact: true })
  await known.hover()
  await given.stint.enqueue(sendMail, mail('b'), { queue: 'another' })
  const pill = page.locator('.card .pill', { hasText: '1 new' })
  await pill.waitFor()
  expect(await page.getByRole('link', { name: 'another', exact: true }).count()).toBe(0)
  await pill.click()
  await page.getByRole('link', { name: 'another', exact: true }).waitFor()
})

test('changes that arrive faster than answers do not block the answers', async () => {
  const queue = 'fast'
  await given.stint.enqueue(sendMail, mail('a'), { queue })
  const page = await given.open(`jobs?where=queue:${queue}`)
  await page.locator('[data-row]').first().waitFor()
  await page.route(/\/v1\/jobs\?/, async (route) => {
    await pause(1_500)
    // The page may have aborted the request.
    await route.continue().catch(() => undefined)
  })
  const isShown = page
    .locator('.pill')
    .waitFor()
    .then(() => true)
  let isOver = false
  while (!isOver) {
    await given.stint.enqueue(sendMail, mail('b'), { queue })
    isOver = await Promise.race([isShown, pause(200, false)])
  }
  await page.unrouteAll({ behavior: 'ignoreErrors' })
})

test('a page says that its stream is cut, resumes it, and shows what happened meanwhile', async () => {
  const queue = 'cut'
  await given.stint.enqueue(sendMail, mail('a'), { queue })
  const page = await given.open('')
  const ready = page
    .getByRole('row', { name: new RegExp(queue) })
    .locator('td')
    .first()
  await page.locator('.data-age-live').waitFor()
  await expect.poll(async () => (await ready.textContent())?.trim()).toBe('1')

  given.cut()
  try {
    await page.locator('.data-age-polling, .data-age-stale').waitFor()
    await given.stint.enqueue(sendMail, mail('b'), { queue })
  } finally {
    given.mend()
  }
  await page.locator('.data-age-live').waitFor()
  await expect.poll(async () => (await ready.textContent())?.trim()).toBe('2')
})

test('a paused page requests nothing until it is resumed', async () => {
  const queue = 'paused'
  await given.stint.enqueue(sendMail, mail('a'), { queue })
  const [page, witness] = [await given.open(''), await given.open('')]
  const ready = (of: Page) =>
    of
      .getByRole('row', { name: new RegExp(queue) })
      .locator('td')
      .first()
  await page.locator('.data-age-live').waitFor()
  await expect.poll(async () => (await ready(page).textContent())?.trim()).toBe('1')
  // The code of the charts is loaded too, once there is something to draw.
  await page.locator('.plot canvas').nth(2).waitFor()
  await page.keyboard.press('p')
  await page.locator('.data-age-paused').waitFor()
  // The timers of the screen stop after it was painted, by timers that come before this one.
  await page.evaluate('new Promise((done) => setTimeout(done, 100))')
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))

  await given.stint.enqueue(sendMail, mail('b'), { queue })
  await expect.poll(async () => (await ready(witness).textContent())?.trim()).toBe('2')
  await page.bringToFront()
  expect((await ready(page).textContent())?.trim()).toBe('1')
  expect(asked).toEqual([])

  await page.keyboard.press('p')
  await expect.poll(async () => (await ready(page).textContent())?.trim()).toBe('2')
})

test('an open dialog keeps what was typed into it while new jobs arrive', async () => {
  const queue = 'typed'
  const { jobs } = await given.stint.enqueueMany(sendMail, ['a', 'b'].map(mail), { queue })
  const ids = jobs.map(({ id }) => id)
  const page = await given.open(`jobs?where=queue:${queue}`)
  // Not check(), which expects the tick at once: here it follows the URL.
  await page.getByLabel('This page').click()
  await page.getByText('2 selected:').waitFor()
  await page.getByRole('button', { name: 'Cancel…' }).click()
  await page.getByLabel('Reason, for the audit').fill('asked for twice')
  await given.stint.enqueueMany(
    sendMail,
    Array.from({ length: 50 }, (_, index) => mail(`n${index}`)),
    { queue },
  )
  await page.locator('.pill').waitFor({ state: 'attached' })
  expect(await page.getByLabel('Reason, for the audit').inputValue()).toBe('asked for twice')
  await page.getByRole('heading', { name: 'Cancel 2 jobs' }).waitFor()
  expect(new URL(page.url()).searchParams.get('sel')?.split(',').sort()).toEqual([...ids].sort())
})
