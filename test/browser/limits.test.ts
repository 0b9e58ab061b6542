import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { giveLimits } from './limits-given.ts'
import { settled, stage } from './stage.ts'

const given = stage({ environment: 'production' })
const shots = join(import.meta.dirname, '../../.artifacts/screenshots')
beforeAll(async () => {
  await mkdir(shots, { recursive: true })
  await giveLimits(given.db)
})

test('the screen shows how full limits and rates are, and overrides one', async () => {
  const page = await given.open('')
  await page.keyboard.press('g')
  await page.keyboard.press('l')
  await page.getByRole('heading', { name: 'Limits & breakers' }).waitFor()
  const gpu = page.getByRole('row', { name: /^gpu/ })
  expect(await gpu.innerText()).toMatch(/4\/3/)
  expect(await page.getByRole('row', { name: /^video\/tenant/ }).innerText()).toMatch(/globex 2\/2/)
  expect(await page.getByRole('row', { name: /^exports\/all/ }).innerText()).toMatch(/20 until\s.*\sby ana/)
  expect(await page.getByRole('row', { name: /^stripe/ }).innerText()).toMatch(/penalised, opens in/)
  expect(await page.getByRole('row', { name: /^old\/limit/ }).innerText()).toMatch(/broken/)
  await gpu.getByRole('link', { name: 'gpu' }).click()
  await page
    .getByRole('link', { name: /^video\.cut …/ })
    .first()
    .waitFor()
  await page.getByRole('button', { name: 'Override…' }).click()
  await page.getByLabel('Jobs at once').fill('8')
  await page.getByLabel('For', { exact: true }).fill('2h')
  await page.getByLabel('Reason, for the audit').fill('new cards')
  const line = await page.locator('dialog .cli code').innerText()
  expect(line).toBe("stint limit set gpu --max 8 --for 2h --reason 'new cards'")
  await page.getByRole('button', { name: 'Override', exact: true }).click()
  await page.getByText('gpu is overridden.').waitFor()
  await expect.poll(() => gpu.innerText()).toMatch(/8 until\s.*\sby ada/)
  expect(await given.stint.limits.get('gpu')).toMatchObject({ max: 8, override: { reason: 'new cards' } })
  await page.getByRole('button', { name: 'Clear override' }).click()
  await page.getByText('gpu: the rule in code holds again.').waitFor()
  expect(await given.stint.limits.get('gpu')).toMatchObject({ max: 3, override: null })
})

test('the screen shows the breakers; an operator probes one, an admin opens, closes and resets it', async () => {
  const operated = await given.open('limits', { role: 'operator' })
  const row = operated.getByRole('row', { name: /^smtp/ })
  expect(await row.innerText()).toMatch(/open.*23\/25 failed.*probe in 1h|open.*23\/25 failed.*probe in 59m/s)
  expect(await operated.getByRole('row', { name: /^maps/ }).innerText()).toMatch(
    /half-open 2m.*1 of 3 probes succeeded/s,
  )
  expect(await operated.getByRole('row', { name: /^paypal/ }).innerText()).toMatch(/closed.*1\/40 failed/s)
  expect(await operated.getByRole('row', { name: /^warehouse/ }).innerText()).toMatch(
    /open.*forced.*is probed in (2h|1h59m).*until\s.*\sby ana/s,
  )
  await row.getByRole('link', { name: 'smtp' }).click()
  const changes = operated.getByRole('region', { name: 'Changes of smtp' })
  await changes.getByText('closed → open').waitFor()
  expect(await operated.getByRole('button', { name: /Open…|Close…|Reset…/ }).count()).toBe(0)
  await operated.getByRole('button', { name: 'Probe now' }).click()
  await operated.getByText('smtp: the next job of a worker probes it.').waitFor()
  await expect.poll(() => row.innerText()).toMatch(/probe is due/)

  // By keyboard: the field for the end has the focus, and Enter sends the form.
  const page = await given.open('limits?breaker=smtp&panel=open')
  await page.getByLabel('End').fill('30m')
  await page.getByLabel('Reason, for the audit').fill('maintenance')
  const line = page.locator('dialog .cli code').filter({ hasText: 'maintenance' })
  expect(await line.innerText()).toBe('stint breaker open smtp --for 30m --reason maintenance')
  await page.keyboard.press('Enter')
  const opened = page.getByRole('row', { name: /^smtp/ })
  await expect.poll(() => opened.innerText()).toMatch(/forced.*until\s.*\sby ada/s)
  await page
    .getByRole('region', { name: 'Changes of smtp' })
    .getByRole('row', { name: /open ada “maintenance” until/ })
    .waitFor()
  expect(await page.getByRole('button', { name: 'Probe now' }).count()).toBe(0)

  await page.getByRole('button', { name: 'Close…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Close', exact: true }).last().click()
  await page.getByText('smtp is forced closed.').waitFor()
  await expect.poll(() => opened.innerText()).toMatch(/closed.*forced.*counts again in (5m|4m)/s)
  await page.getByRole('button', { name: 'Reset…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Reset' }).click()
  await page.getByText('smtp is closed and counts anew.').waitFor()
  expect(await given.stint.breakers.get('smtp')).toMatchObject({ state: 'closed', forced: null })
  const audit = await given.db.query<{ line: string }>(
    `select action || ' by ' || actor as line from stint.audit where target = 'smtp' order by at, id`,
  )
  expect(audit.map((entry) => entry.line)).toEqual([
    'breaker.probe by otto',
    'breaker.open by ada',
    'breaker.close by ada',
    'breaker.reset by ada',
  ])
})

test('an end that is no time is refused, and the dialog says so', async () => {
  const page = await given.open('limits?breaker=maps&panel=close')
  await page.getByLabel('End').fill('soon')
  await page.locator('dialog .cli code').filter({ hasText: 'soon' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByRole('alert').waitFor()
  expect(await given.stint.breakers.get('maps')).toMatchObject({ state: 'half-open', forced: null })
})

test('a viewer sees limits and no actions', async () => {
  const page = await given.open('limits?limit=gpu', { role: 'viewer' })
  await page.getByText('Held by').waitFor()
  expect(await page.getByRole('button', { name: 'Override…' }).count()).toBe(0)
  await page.goto(`${given.url}limits?breaker=warehouse&panel=reset`)
  await page.getByText('Changes of the last 30 days').waitFor()
  expect(await page.getByRole('button', { name: /Probe|Open…|Close…|Reset…/ }).count()).toBe(0)
  expect(await page.getByRole('dialog').count()).toBe(0)
})

test.each([
  ['light', 1440],
  ['dark', 1440],
  ['light', 390],
  ['dark', 390],
] as const)('the screen fits a window, %s, %i px wide', async (colorScheme, width) => {
  const page = await given.open('limits', { colorScheme, viewport: { width, height: 1_000 } })
  for (const [name, opened, shows] of [
    ['limits', 'limit=video/tenant', 'Rules of single keys'],
    ['breakers', 'breaker=warehouse', 'Changes of the last 30 days'],
  ] as const) {
    await page.goto(`${given.url}limits?${opened}`)
    await page.getByText(shows).waitFor()
    await settled(page)
    const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
    expect(wide).toBeLessThanOrEqual(width)
    await page.screenshot({ path: join(shots, `${name}-${colorScheme}-${width}.png`), fullPage: true })
  }
})
