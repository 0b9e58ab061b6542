import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { startFor } from '../support/workers.ts'
import { eventually } from '../support/eventually.ts'
import { CardDeclined } from './life.ts'
import { charge, chargeCard, contracts } from './shop.ts'
import { pressPair, stage } from './stage.ts'

const given = stage({ contracts })

/** Whether the handler still has its bug. */
let isBroken = true

async function givenDead(count: number, queue: string): Promise<string[]> {
  isBroken = true
  await startFor(
    given,
    chargeCard,
    (input) => {
      if (isBroken) throw new CardDeclined(`do not honor, order ${(input as { orderId: number }).orderId}`)
      return { charged: true }
    },
    { queues: { [queue]: 4 } },
  )
  const { jobs } = await given.stint.enqueueMany(
    chargeCard,
    Array.from({ length: count }, (_, index) => charge(1_000 + index)),
    { queue },
  )
  const ids = jobs.map(({ id }) => id)
  await eventually(async () => {
    const [dead] = await given.db.query<{ count: number }>(
      'select count(*)::int as count from stint.dead where id = any($1::uuid[])',
      [ids],
    )
    const groups = await given.db.query('select from stint.error_group')
    if (dead?.count !== count || groups.length === 0) throw new Error('not yet')
  })
  return ids
}

test('a person repairs a dead group by keyboard alone: finds it, replays it with a canary, and watches it end', async () => {
  const ids = await givenDead(12, `keys.${randomUUID().slice(0, 8)}`)
  isBroken = false
  const page = await given.open('', { role: 'operator' })
  const { keyboard } = page
  const focused = (): Promise<string> =>
    page.evaluate('document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.tagName')

  await pressPair(page, ['g', 'd'], 'dead')
  await page.locator('.groups [data-row]').first().waitFor()
  await keyboard.press('j')
  await expect.poll(focused).toMatch(/^Group [\da-f]{8}, /)
  await keyboard.press('r')
  await page.getByRole('heading', { name: 'Replay 12 jobs' }).waitFor()
  // The reason has the focus; the canary, the pace and the stop rule come before it.
  await keyboard.type('fixed in v215')
  for (let press = 0; press < 3; press++) await keyboard.press('Shift+Tab')
  await expect.poll(focused).toBe('Jobs of the canary')
  await keyboard.type('3')
  await page.locator('.cli code', { hasText: '--canary 3' }).waitFor()
  for (let press = 0; press < 3; press++) await keyboard.press('Tab')
  await keyboard.press('Enter')

  await page.waitForURL('**/operations/*')
  await page.locator('h1 .state-succeeded', { hasText: 'done' }).waitFor({ timeout: 50_000 })
  const facts = await page.locator('.facts').allTextContents()
  expect(facts.join(' ')).toMatch(/Acted12/)
  expect(facts.join(' ')).toMatch(/Succeeded12Had not ended0Died again, same error0/)
  expect(facts.join(' ')).toMatch(/Tried first3Decided3Succeeded3Failed0Same error0/)
  await eventually(async () => {
    const states = await Promise.all(ids.map(async (id) => (await given.stint.get(id))?.state))
    expect(new Set(states)).toEqual(new Set(['succeeded']))
  })
  const [noted] = await given.db.query<{ actor: string; reason: string }>(
    `select actor, reason from stint.audit where action = 'operation.replay'`,
  )
  expect(noted).toEqual({ actor: 'otto', reason: 'fixed in v215' })
}, 180_000)

test('an operation whose canary fails the same way stops, and says so', async () => {
  await givenDead(8, `stop.${randomUUID().slice(0, 8)}`)
  const page = await given.open('dead', { role: 'operator' })
  await page.locator('[data-row-link]').first().click()
  await page.getByRole('button', { name: /^Replay \d+…/ }).click()
  await page.getByLabel('Canary: first').check()
  await page.getByLabel('Jobs of the canary').fill('2')
  await page.getByLabel('Reason, for the audit').fill('maybe it is over')
  await page.locator('.cli code', { hasText: '--canary 2' }).waitFor()
  await page.getByRole('button', { name: /^Replay \d+ jobs/ }).click()
  await page.locator('h1 .state-dead', { hasText: 'stopped' }).waitFor({ timeout: 50_000 })
  await page.getByText('Stopped by its rule').waitFor()
  expect(await page.getByRole('button', { name: 'Abort' }).count()).toBe(0)
}, 180_000)

test('edit & replay shows contract errors at their fields, then the change, then the new job', async () => {
  const [id = ''] = await givenDead(1, `edit.${randomUUID().slice(0, 8)}`)
  isBroken = false
  const page = await given.open(`jobs/${id}`)
  await page.getByRole('button', { name: 'Edit & replay…' }).waitFor()
  await page.keyboard.press('e')
  const cents = page.getByLabel('cents', { exact: true })
  await cents.fill('-5')
  const last4 = page.getByLabel('card › last4')
  await last4.fill('12345')
  await page.getByLabel('Reason, for the audit').fill('the amount was wrong')
  expect(await page.getByLabel('Changes').textContent()).toMatch(/− +"cents": 1250[\s\S]*\+ +"cents": -5/)
  await page.getByRole('button', { name: 'Replay with this input' }).click()

  await page.locator('[aria-invalid=true]').nth(1).waitFor()
  for (const field of [cents, last4]) {
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    const note = page.locator(`[id="${(await field.getAttribute('aria-describedby')) ?? ''}"]`)
    expect((await note.textContent())?.length).toBeGreaterThan(5)
  }
  // The first of these fields has the focus.
  await page.locator('[aria-invalid=true]:focus').waitFor()
  expect((await given.stint.get(id))?.state).toBe('dead')

  await cents.fill('990')
  await last4.fill('4f22')
  await page.getByRole('button', { name: 'Replay with this input' }).click()
  await page.waitForURL((url) => url.pathname.startsWith('/jobs/') && !url.pathname.endsWith(id))
  await page.locator('h1 .state-succeeded').waitFor()
  expect(await page.locator('pre[aria-label=Input]').textContent()).toContain('"cents": 990')
  await page.getByRole('tab', { name: 'Lineage' }).click()
  await page
    .getByRole('region', { name: 'Edited copy of this dead letter' })
    .getByRole('link', { name: `Job ${id}` })
    .click()
  await page.locator('h1', { hasText: 'edited and replayed' }).waitFor()
  expect(await page.locator('pre[aria-label=Input]').textContent()).toContain('"cents": 1250')
})

test('a discard is undone where it was done', async () => {
  const [id = ''] = await givenDead(1, `undo.${randomUUID().slice(0, 8)}`)
  const page = await given.open(`jobs/${id}`, { role: 'operator' })
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.locator('h1', { hasText: 'in trash' }).waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText(/^Restored card\.charge/).waitFor()
  await expect.poll(async () => page.locator('h1').textContent()).not.toContain('in trash')
  await page.getByRole('button', { name: 'Replay', exact: true }).waitFor()
})

test('a replay of a job that changed meanwhile is refused, and the page says so', async () => {
  const [id = ''] = await givenDead(1, `raced.${randomUUID().slice(0, 8)}`)
  const page = await given.open(`jobs/${id}`, { role: 'operator' })
  isBroken = false
  // After the click and before the console gets the request: otherwise the page may see the change first and remove the
  // button.
  await page.route(`**/v1/jobs/${id}/replay`, async (route) => {
    await given.stint.dead.replay(id)
    await route.continue()
  })
  await page.getByRole('button', { name: 'Replay', exact: true }).click()
  await page.locator('.toast-fail').waitFor()
  expect(await page.locator('.toast-fail').textContent()).toContain('The state has changed')
})
