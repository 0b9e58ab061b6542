import { expect, test } from 'vitest'
import { chargeCard, charge, contracts, renderReport, resizeImage, sendMail } from './shop.ts'
import { stage } from './stage.ts'
import { eventually } from '../support/eventually.ts'
import { plantBreaker } from '../support/planted-breaker.ts'
import { startFor } from '../support/workers.ts'

const given = stage({ contracts })
/** What was done to a target, by whom and why, oldest first. */
async function audited(target: string, action: string): Promise<string[]> {
  const rows = await given.db.query<{ line: string }>(
    `select concat_ws(' ', action, actor, reason) as line from stint.audit where target = $1 and action like $2 order by at, id`,
    [target, action],
  )
  return rows.map(({ line }) => line)
}

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

test('an admin drains a queue and opens it again', async () => {
  await given.stint.enqueue(sendMail, { to: 'ana@example.com', template: 'welcome' })
  const page = await given.open('queues/mail')
  await page.getByRole('button', { name: 'Drain…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason, for the audit').fill('moving house')
  await dialog.getByText("stint queue drain mail --reason 'moving house'").waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Backpressure' }).getByText('moving house').waitFor()
  // This client has enqueued before, so it learns of the drain with its next read, within 2 s.
  await eventually(() =>
    expect(
      given.stint.enqueue(sendMail, { to: 'bo@example.com', template: 'welcome' }),
    ).rejects.toMatchObject({ code: 'queue-closed' }),
  )
  await page.getByRole('button', { name: 'Open…' }).click()
  await dialog.getByRole('button', { name: 'Open' }).click()
  await page.getByText('mail is open.').waitFor()
  await page.getByRole('button', { name: 'Drain…' }).waitFor()
  expect(await audited('mail', 'queue.%')).toEqual(['queue.drain ada moving house', 'queue.open ada'])
  expect((await given.stint.pressure('mail')).state).toBe('open')
})

test('an admin sets the concurrency of a queue for a time, and clears it', async () => {
  await given.stint.enqueue(renderReport, { month: '2026-11' })
  const page = await given.open('queues/exports?panel=concurrency')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Jobs at once, in each worker').fill('2')
  await dialog.getByLabel('Reason, for the audit').fill('slow disk')
  const line = "stint queue concurrency exports 2 --for 1h --reason 'slow disk'"
  await dialog.getByText(line).waitFor()
  await page.keyboard.press('Enter')
  const shown = page.getByRole('region', { name: 'Concurrency' })
  await shown.getByText(/runs 2 jobs of this queue at once, .* until .*: slow disk/).waitFor()
  expect(await given.stint.queues.concurrency('exports')).toMatchObject({
    concurrency: 2,
    reason: 'slow disk',
  })
  await shown.getByRole('button', { name: 'Clear concurrency' }).click()
  await shown.waitFor({ state: 'detached' })
  expect(await given.stint.queues.concurrency('exports')).toBeNull()
  expect(await audited('exports', 'queue.%')).toEqual([
    'queue.concurrency ada slow disk',
    'queue.concurrency-clear ada',
  ])
})

test('a queue shows its limits, its breakers and its retry budget', async () => {
  await given.stint.enqueue(resizeImage, { imageId: 'i1', width: 3 })
  const page = await given.open('queues/media', { role: 'viewer' })
  await page.getByText('No limit, rate, breaker or retry budget holds for this queue.').waitFor()
  await plantBreaker(given.db, { name: 'cdn', queue: 'media', kind: 'image.resize' })
  await given.db.query(`insert into stint.concurrency_limit (name, max) values ('gpu', 3)`)
  await given.db.query(
    `insert into stint.limit_cover (queue, type, name) values ('media', 'concurrency', 'gpu')`,
  )
  await given.db.query(
    `insert into stint.queue (name, retry_budget) values ('media', '{"share": 0.2, "least": 10, "windowMs": 60000}')
     on conflict (name) do update set retry_budget = excluded.retry_budget`,
  )
  await page.reload()
  await page.getByText('Retry budget: at most 20% of first attempts + 10 retries in 1m.').waitFor()
  const rules = page.getByRole('region', { name: 'Rules of this queue' })
  expect(await rules.getByRole('row', { name: /^gpu/ }).innerText()).toMatch(/Limit\s+0\/3\s+all/)
  const cdn = rules.getByRole('row', { name: /^cdn/ })
  expect(await cdn.innerText()).toMatch(/Breaker\s+open.*23\/25 failed.*probe in .*image\.resize/s)
  await cdn.getByRole('link').click()
  await page.getByRole('region', { name: 'Changes of cdn' }).waitFor()
})

test('an admin pauses, resumes and drains a worker; an operator has no such buttons', async () => {
  await startFor(given, chargeCard, () => ({ receipt: 'r' }))
  const [{ id } = { id: '' }] = await given.stint.workers.list()
  const page = await given.open('workers')
  const row = page.locator(`tr[data-row="${id}"]`)
  const dialog = page.getByRole('dialog')
  await row.getByRole('button', { name: /^Pause/ }).click()
  await dialog.getByLabel('Reason, for the audit').fill('memory')
  await dialog.getByText(`stint worker pause ${id} --reason memory`).waitFor()
  await page.keyboard.press('Enter')
  await row.getByText('paused (memory)').waitFor()
  expect(await given.stint.workers.list()).toMatchObject([{ id, wanted: { state: 'paused' } }])

  const other = await given.open(`workers?worker=${id}&panel=drain`, { role: 'operator' })
  await other.locator(`tr[data-row="${id}"]`).getByText('paused (memory)').waitFor()
  expect(await other.locator('tr').getByRole('button').count()).toBe(0)
  expect(await other.getByRole('dialog').count()).toBe(0)

  await row.getByRole('button', { name: /^Resume/ }).click()
  await dialog.getByRole('button', { name: 'Resume' }).click()
  await row.getByText('active').waitFor()
  const { id: job } = await given.stint.enqueue(chargeCard, charge(5))
  await eventually(async () => {
    expect((await given.stint.get(job))?.state).toBe('succeeded')
  })
  await row.getByRole('button', { name: /^Drain/ }).click()
  await dialog.getByRole('button', { name: 'Drain' }).click()
  await eventually(async () => {
    expect(await given.stint.workers.list()).toEqual([])
  })
  expect(await audited(id, 'worker.%')).toEqual([
    'worker.pause ada memory',
    'worker.resume ada',
    'worker.drain ada',
  ])
})
