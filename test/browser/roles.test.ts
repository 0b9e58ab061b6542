import { beforeAll, describe, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { defineSchedule } from '../../src/index.ts'
import { bury } from '../support/dead-letters.ts'
import { eventually } from '../support/eventually.ts'
import { startWorker } from '../support/workers.ts'
import type { TestWorker } from '../support/workers.ts'
import { charge, chargeCard, contracts, renderReport } from './shop.ts'
import { stage } from './stage.ts'

const given = stage({ contracts })
const group = 'b02c9e5177aa01f3b02c9e5177aa01f3'
let id = ''

beforeAll(async () => {
  const job = await given.stint.enqueue(chargeCard, charge(7), { delay: '1h' })
  id = job.id
  await bury(given.db, id, { error: { name: 'CardDeclined', message: 'do not honor' }, fingerprint: group })
  await given.stint.schedules.set(
    defineSchedule({ name: 'nightly', job: renderReport, cron: '0 2 * * *', input: { month: '2026-11' } }),
  )
})

/** Sends a request as a script of this page would: with the person's cookie, from our own origin. */
function send(page: Page, path: string, body: object): Promise<number> {
  return page.evaluate(
    async ([address, text]) => {
      const response = await fetch(address, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
        body: text,
      })
      return response.status
    },
    [`v1/${path}`, JSON.stringify(body)] as const,
  )
}

describe('a viewer', () => {
  test('a viewer sees no button that acts', async () => {
    const page = await given.open(`jobs/${id}?panel=edit-and-replay`, { role: 'viewer' })
    await page.locator('h1 .state-dead').waitFor()
    const acting =
      /Replay|Edit|Discard|Cancel|Run now|Reschedule|Priority|Pause…|Backfill|Resolve|Ignore|Retention/
    expect(await page.getByRole('button', { name: acting }).count()).toBe(0)
    expect(await page.getByRole('dialog').count()).toBe(0)
    await page.getByText('Your role may not see inputs.').waitFor()
    await page.keyboard.press('r')
    await page.keyboard.press('e')

    await page.goto(`${given.url}jobs?where=state:dead&sel=${id}&panel=op-replay`)
    await page.getByText('No action available for this selection').waitFor()
    expect(await page.getByRole('button', { name: acting }).count()).toBe(0)
    await page.goto(`${given.url}schedules?schedule=nightly&panel=pause`)
    await page.getByRole('heading', { level: 2, name: 'Last fires' }).waitFor()
    expect(await page.getByRole('button', { name: acting }).count()).toBe(0)
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(await page.getByRole('link', { name: 'Audit' }).count()).toBe(0)
    expect((await given.stint.get(id))?.state).toBe('dead')
  })

  test('a viewer who sends an action without a button is refused', async () => {
    const page = await given.open('', { role: 'viewer' })
    for (const [path, body] of [
      [`jobs/${id}/replay`, {}],
      [`jobs/${id}/discard`, {}],
      [`jobs/${id}/edit-and-replay`, { input: charge(8), reason: 'because' }],
      ['operations', { action: 'replay', where: 'state:dead', reason: 'because' }],
      ['schedules/nightly/run', {}],
      [`error-groups/${group}/resolve`, {}],
    ] as const) {
      expect(await send(page, path, body), path).toBe(403)
    }
    expect((await given.stint.get(id))?.state).toBe('dead')
    await page.goto(`${given.url}audit`)
    await page.getByRole('alert').filter({ hasText: 'audit' }).waitFor()
  })
})

test('an operator runs and backfills a schedule whose input comes from code, and sees who makes the jobs', async () => {
  const schedule = defineSchedule({
    name: 'coded',
    job: renderReport,
    at: ['2026-03-01T00:00:00Z', '2099-01-01T00:00:00Z'],
    input: (fireAt: Date) => ({ month: fireAt.toISOString().slice(0, 7) }),
  })
  const withCode = (): Promise<TestWorker> =>
    startWorker(given, { queues: { none: 1 } }, (worker) =>
      worker.handle(chargeCard, () => ({ charged: true })).schedule(schedule),
    )
  const { worker } = await withCode()
  await worker.stop()
  const page = await given.open('schedules?schedule=coded', { role: 'operator' })
  await page.getByText('no worker has its code').waitFor()
  await page.getByRole('button', { name: 'Run now', exact: true }).click()
  await page
    .getByText("Asked for 1 fire. No live worker has this schedule's code: the jobs wait for one.")
    .waitFor()
  await page.getByText('1 asked fire: no live worker has the code that makes the input').waitFor()
  expect(await given.stint.list({ kind: 'report.render' })).toMatchObject({ jobs: [] })

  await withCode()
  await page.getByRole('button', { name: 'Backfill…' }).click()
  await page.getByLabel('From').fill('2026-02-28T00:00')
  await page.getByLabel('To').fill('2026-03-02T00:00')
  await page.getByRole('button', { name: 'Preview' }).click()
  await page.getByText("would be backfilled. A worker that has this schedule's code").waitFor()
  await page.getByRole('button', { name: 'Ask for 1 job' }).click()
  await page.getByText("Asked for 1 fire. A worker that has this schedule's code makes the jobs.").waitFor()
  await eventually(async () => {
    const { jobs } = await given.stint.list({ kind: 'report.render' })
    expect(jobs).toHaveLength(2)
  })
  const fires = await given.stint.schedules.fires('coded', { before: '2026-04-01T00:00:00Z' })
  expect(fires).toMatchObject([{ outcome: 'fired', reason: 'backfill' }])
  const made = await given.stint.get(fires[0]?.jobId ?? '')
  expect(made).toMatchObject({ input: { month: '2026-03' } })
})

test('an operator may replay and may not edit', async () => {
  const page = await given.open(`jobs/${id}`, { role: 'operator' })
  await page.getByRole('button', { name: 'Replay', exact: true }).waitFor()
  expect(await page.getByRole('button', { name: 'Edit & replay…' }).count()).toBe(0)
  expect(await send(page, `jobs/${id}/edit-and-replay`, { input: charge(8), reason: 'because' })).toBe(403)
})

test('a signed-out person is sent to the sign-in page and back', async () => {
  const page = await given.open('system', { role: 'viewer' })
  await page.getByText('PostgreSQL', { exact: true }).waitFor()
  await page.context().clearCookies()
  await page.getByRole('button', { name: 'Check again' }).click()
  // One link for each part of the screen that requests data again.
  const signIn = page.getByRole('link', { name: 'Sign in' }).first()
  await signIn.waitFor()
  expect(await signIn.getAttribute('href')).toContain(encodeURIComponent('/system'))
})
