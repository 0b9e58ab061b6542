import { beforeAll, describe, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { defineSchedule } from '../../src/entry/index.ts'
import { bury } from '../support/dead-letters.ts'
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

/** A request as a script in this page would send it: with the person's cookie, from our own origin. */
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
  test('sees no control that acts', async () => {
    const page = await given.open(`jobs/${id}?panel=edit-and-replay`, { role: 'viewer' })
    await page.locator('h1 .state-dead').waitFor()
    const acting =
      /Replay|Edit|Discard|Cancel|Run now|Reschedule|Priority|Pause…|Backfill|Resolve|Ignore|Retention/
    expect(await page.getByRole('button', { name: acting }).count()).toBe(0)
    expect(await page.getByRole('dialog').count()).toBe(0)
    await page.getByText('Your role does not show inputs.').waitFor()
    await page.keyboard.press('r')
    await page.keyboard.press('e')

    await page.goto(`${given.url}jobs?where=state:dead&sel=${id}&panel=op-replay`)
    await page.getByText('nothing can be done to these by you').waitFor()
    expect(await page.getByRole('button', { name: acting }).count()).toBe(0)
    await page.goto(`${given.url}schedules?schedule=nightly&panel=pause`)
    await page.getByRole('heading', { level: 2, name: 'Last fires' }).waitFor()
    expect(await page.getByRole('button', { name: acting }).count()).toBe(0)
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(await page.getByRole('link', { name: 'Audit' }).count()).toBe(0)
    expect((await given.stint.get(id))?.state).toBe('dead')
  })

  test('is refused what it asks for without a control', async () => {
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

test('an operator may replay and may not edit', async () => {
  const page = await given.open(`jobs/${id}`, { role: 'operator' })
  await page.getByRole('button', { name: 'Replay', exact: true }).waitFor()
  expect(await page.getByRole('button', { name: 'Edit & replay…' }).count()).toBe(0)
  expect(await send(page, `jobs/${id}/edit-and-replay`, { input: charge(8), reason: 'because' })).toBe(403)
})

test('who is signed out is led to the door and back', async () => {
  const page = await given.open('system', { role: 'viewer' })
  await page.getByText('PostgreSQL', { exact: true }).waitFor()
  await page.context().clearCookies()
  await page.getByRole('button', { name: 'Check again' }).click()
  // One for each part of the screen that asks again.
  const door = page.getByRole('link', { name: 'Sign in' }).first()
  await door.waitFor()
  expect(await door.getAttribute('href')).toContain(encodeURIComponent('/system'))
})
