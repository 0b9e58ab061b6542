import { expect, test } from 'vitest'
import type { Overview } from '../../src/server/api/overview.ts'
import { bury } from '../support/dead-letters.ts'
import { eventually } from '../support/eventually.ts'
import { charge, chargeCard, contracts, sendMail } from './shop.ts'
import { stage, tokenOf } from './stage.ts'

const given = stage({ contracts })

test('a link restores the screen it was copied from: filter, selection, open panel', async () => {
  const { jobs } = await given.stint.enqueueMany(chargeCard, [charge(1), charge(2), charge(3)], {
    delay: '1h',
  })
  const [first = '', second = ''] = jobs.map(({ id }) => id)
  const page = await given.open('')
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await page.locator('[data-row]').first().waitFor()
  await page.getByRole('button', { name: 'scheduled', exact: true }).click()
  await page.waitForURL('**/jobs?where=*')
  // Not check(), which expects the tick at once: here it follows the URL.
  for (const [id, count] of [
    [first, 1],
    [second, 2],
  ] as const) {
    await page.getByLabel(`Select job ${id}`).click()
    await page.getByText(`${count} selected:`).waitFor()
  }
  await page.getByRole('button', { name: 'Cancel…' }).click()
  await page.getByRole('heading', { name: 'Cancel 2 jobs' }).waitFor()
  const link = page.url().slice(given.url.length)

  const other = await given.open(link)
  await other.getByRole('heading', { name: 'Cancel 2 jobs' }).waitFor()
  expect(await other.getByLabel(`Select job ${second}`).isChecked()).toBe(true)
  expect(await other.getByLabel('Filter', { exact: true }).inputValue()).toBe('state:scheduled')
  await other.getByRole('heading', { name: 'Cancel 2 jobs' }).waitFor()
  await other.keyboard.press('Escape')
  await other.locator('dialog').waitFor({ state: 'detached' })
  expect(await other.getByText('2 selected:').isVisible()).toBe(true)
})

test('Back undoes the steps one by one', async () => {
  const { id } = await given.stint.enqueue(
    sendMail,
    { to: 'ana@example.com', template: 'welcome' },
    { delay: '1h' },
  )
  await bury(given.db, id)
  const page = await given.open('')
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await page.locator('[data-row]').first().waitFor()
  await page.getByRole('button', { name: 'dead', exact: true }).click()
  await page.waitForURL('**/jobs?where=*')
  await page.getByRole('button', { name: 'dead', exact: true, pressed: true }).waitFor()
  await page.locator(`[data-row="${id}"] [data-row-link]`).click()
  await page.getByRole('heading', { level: 1, name: /mail\.send/ }).waitFor()
  await page.getByRole('button', { name: 'Edit & replay…' }).click()
  await page.getByRole('dialog').waitFor()

  await page.goBack()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.goBack()
  await page.locator(`[data-row="${id}"]`).waitFor()
  await expect.poll(() => page.getByLabel('Filter', { exact: true }).inputValue()).toBe('state:dead')
  await page.goBack()
  await page.waitForURL('**/jobs')
  await expect.poll(() => page.getByLabel('Filter', { exact: true }).inputValue()).toBe('')
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
})

test('a new filter shows its own jobs at once, and none of the previous filter', async () => {
  const queue = 'filtered'
  const { jobs } = await given.stint.enqueueMany(chargeCard, [charge(1), charge(2), charge(3)], { queue })
  const [died = ''] = jobs.map(({ id }) => id)
  await bury(given.db, died)
  const page = await given.open(`jobs?where=queue:${queue}`)
  await page.locator('[data-row]').nth(2).waitFor()
  await page.getByRole('button', { name: 'dead', exact: true }).click()
  await expect.poll(() => page.locator('[data-row]').count()).toBe(1)
  await page.locator(`[data-row="${died}"]`).waitFor()
  expect(await page.locator('.pill').count()).toBe(0)
})

test('the key r on a job that cannot be replayed says so, and opens no dialog later', async () => {
  const queue = 'mixed'
  const { id: died } = await given.stint.enqueue(chargeCard, charge(1), { queue })
  const { id: later } = await given.stint.enqueue(chargeCard, charge(2), { queue, delay: '1h' })
  await bury(given.db, died)
  const page = await given.open(`jobs?where=queue:${queue}`)
  await page.locator(`[data-row="${later}"] [data-row-link]`).focus()
  await page.keyboard.press('r')
  await page.getByText('Only dead letters can be replayed; the state of this job is scheduled.').waitFor()
  await page.getByLabel(`Select job ${died}`).click()
  await page.getByText('1 selected:').waitFor()
  expect(new URL(page.url()).searchParams.has('panel')).toBe(false)
  expect(await page.locator('dialog').count()).toBe(0)
  // On a job that can be replayed it opens the dialog.
  await page.keyboard.press('r')
  await page.getByRole('heading', { name: 'Replay 1 job' }).waitFor()
})

test('the short id of a job, as tables show it, leads to the job in the jump bar and in a filter', async () => {
  const queue = 'by-end'
  const { jobs } = await given.stint.enqueueMany(chargeCard, [charge(1), charge(2)], { queue, delay: '1h' })
  const [first = ''] = jobs.map(({ id }) => id)
  const page = await given.open(`jobs?where=queue:${queue}`)
  const shown = (await page.locator(`[data-row="${first}"] [data-row-link]`).textContent()) ?? ''
  await page.keyboard.press('Control+k')
  await page.locator('[role=combobox]:focus').waitFor()
  await page.keyboard.type(shown)
  await page.getByRole('option', { name: new RegExp(`${shown}.*card\\.charge`) }).click()
  await page.getByRole('heading', { level: 1, name: /card\.charge/ }).waitFor()
  expect(page.url()).toContain(first)
  await page.goto(`${given.url}jobs?where=${encodeURIComponent(`id:${shown}`)}`)
  await page.locator(`[data-row="${first}"]`).waitFor()
  expect(await page.locator('[data-row]').count()).toBe(1)
})

test('a message of several lines is shown with its line breaks', async () => {
  const { id } = await given.stint.enqueue(chargeCard, charge(1), { queue: 'lines' })
  const message = 'not valid:\n  - line 3\n  - line 7'
  await bury(given.db, id, { error: { name: 'Invalid', message, causes: [{ name: 'Error', message }] } })
  const page = await given.open(`jobs/${id}`)
  for (const place of ['.error-line', '.causes li'])
    expect(await page.locator(place).first().innerText()).toContain(message)
})

test('the table does not move when the filter gets the focus', async () => {
  await given.stint.enqueue(chargeCard, charge(1), { queue: 'focus', delay: '1h' })
  const page = await given.open('jobs?where=queue:focus')
  const row = page.locator('[data-row]').first()
  const before = await row.boundingBox()
  await page.keyboard.press('/')
  await page.locator('[data-filter]:focus').waitFor()
  expect(await row.boundingBox()).toEqual(before)
  await page.setViewportSize({ width: 390, height: 800 })
  const [focused, blurred] = [
    await row.boundingBox(),
    await page.keyboard.press('Escape').then(() => row.boundingBox()),
  ]
  expect(blurred).toEqual(focused)
})

test('a queue with special characters in its name has a screen and a link', async () => {
  const queue = 'eu/west:a%2Fb.c'
  await given.stint.enqueue(sendMail, { to: 'ana@example.com', template: 'welcome' }, { queue })
  const page = await given.open('queues')
  await page.getByRole('link', { name: queue, exact: true }).click()
  await page.getByRole('heading', { level: 1, name: queue }).waitFor()
  await page.reload()
  await page.getByRole('heading', { level: 1, name: queue }).waitFor()
  await page.locator('.figure', { hasText: 'ready' }).first().click()
  await page.locator('[data-row]').first().waitFor()
  expect(await page.locator('[data-row]').count()).toBe(1)
})

test('the menu, the overview and the list show the same count of dead letters', async () => {
  const { jobs } = await given.stint.enqueueMany(chargeCard, [charge(1), charge(2)], { queue: 'counted' })
  // One has an error group that has no row yet, one died without an error.
  for (const [index, { id }] of jobs.entries())
    await bury(given.db, id, index === 0 ? { fingerprint: 'c0c0c0c0c0c0c0c0' } : { reason: 'expired' })
  const [dead] = await given.db.query<{ count: number }>('select count(*)::int as count from stint.dead')
  const count = String(dead?.count)
  const page = await given.open('')
  await expect.poll(() => page.locator('.nav-count').textContent()).toBe(count)
  expect(await page.locator('.figure', { hasText: /^Dead/ }).locator('.figure-value').textContent()).toBe(
    count,
  )
  await page.getByRole('link', { name: 'Dead letters' }).first().click()
  await page.locator('.list-sum', { hasText: `${count} dead, ` }).waitFor()
  expect(await page.locator('.nav-count').textContent()).toBe(count)
})

test('the figure of failed attempts leads to the errors that jobs fail with, also those no job has died of', async () => {
  await given.db.query(
    `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job)
     values ('fa11fa11fa11fa11', 'mail.send', 'transient', 'TooMany', '429 from hooks', '429', now(), now(), gen_random_uuid())`,
  )
  await given.db.query(
    `insert into stint.error_hour (fingerprint, hour, process, flush, failures, deaths)
     values ('fa11fa11fa11fa11', date_trunc('hour', now()), gen_random_uuid(), 1, 132, 0)`,
  )
  const page = await given.open('')
  await page.locator('.figure', { hasText: 'Failed attempts' }).click()
  const row = page.locator('[data-row=fa11fa11fa11fa11]')
  await row.filter({ hasText: '132' }).waitFor()
  await page.getByRole('heading', { level: 1, name: 'Errors' }).waitFor()
  // An error that no job has died of is not among the dead letters.
  await page.getByRole('radio', { name: 'dead letters' }).click()
  await page.getByRole('heading', { level: 1, name: 'Dead letters' }).waitFor()
  await row.waitFor({ state: 'detached' })
})

test('a page, job or filter that does not exist says so', async () => {
  const page = await given.open('jobs/01a1e0a0-d880-7c3e-9b41-5f0e27ac81d4')
  await page.getByRole('alert').filter({ hasText: 'job' }).waitFor()
  await page.goto(`${given.url}jobs?where=colour:red`)
  await page.getByRole('alert').getByText('colour').first().waitFor()
  await page.goto(`${given.url}nowhere`)
  await page.getByText('There is no page at this address.').waitFor()
})

test('each problem of the overview leads to the screen that it is about', async () => {
  const { id } = await given.stint.enqueue(chargeCard, charge(9), { queue: 'nobody/serves%20it' })
  const { id: died } = await given.stint.enqueue(chargeCard, charge(10))
  await bury(given.db, died, { fingerprint: 'b02c9e51b02c9e51' })
  await given.db.query(
    `insert into stint.error_group (fingerprint, kind, class, name, title, message, first_seen, last_seen, sample_job)
     values ('b02c9e51b02c9e51', 'card.charge', 'transient', 'CardDeclined', 'no', 'no', now(), now(), $1)`,
    [died],
  )
  await given.db.query(
    `insert into stint.error_hour (fingerprint, hour, process, flush, failures, deaths)
     values ('b02c9e51b02c9e51', date_trunc('hour', now()), gen_random_uuid(), 1, 5, 3)`,
  )
  const input = { to: 'all@example.com', template: 'reminder' } as const
  await given.stint.schedules.set({ name: 'by/night%20', job: sendMail, input, cron: '0 2 * * *' })
  await given.db.query(`update stint.schedule set failures = 2 where name = 'by/night%20'`)
  await given.db.query(
    `insert into stint.operation (id, job_id, action, as_of, settings, state, note, reason, actor, origin)
     values ($1, $1, 'replay', now(), '{"ids": 0, "canary": 0, "pace": null, "max": 1, "priority": null, "stopIf": {"sameError": 20, "anyFailure": null}}',
             'stopped', 'the same error', 'try', 'ana', 'cli')`,
    [id],
  )
  // Problems that are found later wait above the list until a person shows them.
  await eventually(async () => {
    const headers = { Authorization: `Bearer ${tokenOf('viewer')}` }
    const answer = (await (await fetch(`${given.url}v1/overview`, { headers })).json()) as Overview
    const found = new Set(answer.problems.map(({ about }) => about))
    if (!['queue', 'error-group', 'schedule', 'operation'].every((about) => found.has(about as never)))
      throw new Error('not yet')
  })
  const page = await given.open('')
  const problems = page.locator('.problem')
  const screens: [about: RegExp, screen: RegExp][] = [
    [/No worker serves nobody/, /nobody\/serves%20it/],
    [/CardDeclined: no/, /CardDeclined/],
    [/Schedule by\/night%20 does not fire/, /by\/night%20/],
    [/A replay by ana was stopped by its rule/, /Stopped by its rule/],
  ]
  for (const [about, screen] of screens) {
    await problems.filter({ hasText: about }).getByRole('link').click()
    // The overview has the same texts, so it has to be gone first.
    await page.locator('main .problem').first().waitFor({ state: 'detached' })
    await page.locator('main', { hasText: screen }).waitFor()
    expect(await page.getByText('No screen has this address').count()).toBe(0)
    await page.goBack()
    await problems.first().waitFor()
  }
})
