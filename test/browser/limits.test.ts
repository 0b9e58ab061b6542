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

test('a viewer sees limits and no actions', async () => {
  const page = await given.open('limits?limit=gpu', { role: 'viewer' })
  await page.getByText('Held by').waitFor()
  expect(await page.getByRole('button', { name: 'Override…' }).count()).toBe(0)
})

test.each([
  ['light', 1440],
  ['dark', 1440],
  ['light', 390],
  ['dark', 390],
] as const)('the screen fits a window, %s, %i px wide', async (colorScheme, width) => {
  const page = await given.open('limits?limit=video/tenant', {
    colorScheme,
    viewport: { width, height: 1_000 },
  })
  await page.getByText('Rules of single keys').waitFor()
  await settled(page)
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
  expect(wide).toBeLessThanOrEqual(width)
  await page.screenshot({ path: join(shots, `limits-${colorScheme}-${width}.png`), fullPage: true })
})
