import { expect, test } from 'vitest'
import { chargeCard, charge, contracts, sendMail } from './shop.ts'
import { stage } from './stage.ts'
import { eventually } from '../support/eventually.ts'

const given = stage({ contracts })
const reason = 'the provider is down until Monday'

test('an operator pauses a queue and a key in the dialog, everyone sees why, and resumes them', async () => {
  await given.stint.enqueue(chargeCard, charge(3))
  const page = await given.open('queues/billing', { role: 'operator' })
  await page.getByRole('button', { name: 'Pause…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('End').fill('2h')
  await dialog.getByLabel('Reason, for the audit').fill(reason)
  await dialog.getByRole('button', { name: 'Pause' }).click()
  const band = page.getByRole('region', { name: 'Paused' })
  await band.getByText('billing is paused').waitFor()
  expect(await band.textContent()).toMatch(
    new RegExp(`billing is paused by otto .*, ends in (2h|1h59m).*: ${reason}`),
  )
  // The stream may tell of the pause before its answer closes the dialog.
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Pause…' }).click()
  await dialog.getByRole('radio', { name: 'key' }).check()
  await dialog.getByLabel('Key', { exact: true }).fill('customer-3')
  await dialog.getByLabel('Reason, for the audit').fill('their card is blocked')
  await dialog.getByText('--key=customer-3').waitFor()
  await dialog.getByText('their card is blocked').waitFor()
  await dialog.getByRole('button', { name: 'Pause' }).click()
  await eventually(async () => {
    expect((await given.stint.queues.get('billing')).pauses).toMatchObject([
      { key: null, by: 'otto', reason },
      { key: 'customer-3', until: null, by: 'otto', reason: 'their card is blocked' },
    ])
  })
  const other = await given.open('', { role: 'viewer' })
  const seen = other.getByRole('region', { name: 'Paused' })
  await seen.getByText('Key customer-3 of billing is paused').waitFor()
  expect(await seen.getByRole('button').count()).toBe(0)
  await other
    .getByRole('row', { name: /billing/ })
    .getByText('paused')
    .first()
    .waitFor()
  await band.getByRole('button', { name: 'Resume Key customer-3 of billing' }).click()
  await band.getByRole('button', { name: 'Resume billing' }).click()
  await eventually(async () => {
    expect((await given.stint.queues.get('billing')).pauses).toEqual([])
  })
  await band.waitFor({ state: 'detached' })
})

test('a pause without a reason cannot be sent, and a wrong end is named', async () => {
  await given.stint.enqueue(sendMail, { to: 'ana@example.com', template: 'welcome' })
  const page = await given.open('queues/mail?panel=pause', { role: 'operator' })
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Pause' }).click()
  const field = dialog.getByLabel('Reason, for the audit')
  await dialog.locator('input:invalid').waitFor()
  await field.fill(reason)
  await dialog.getByLabel('End').fill('2001-01-01T00:00:00Z')
  await dialog.getByRole('button', { name: 'Pause' }).click()
  await dialog.getByText(/until/).first().waitFor()
  expect((await given.stint.queues.get('mail')).pauses).toEqual([])
})

test('a viewer has no button to pause, and a link does not open the dialog', async () => {
  const page = await given.open('queues/mail?panel=pause', { role: 'viewer' })
  await page.getByRole('heading', { level: 1, name: 'mail' }).waitFor()
  expect(await page.getByRole('button', { name: /Pause…|Resume/ }).count()).toBe(0)
  expect(await page.getByRole('dialog').count()).toBe(0)
})
