import { expect, test } from 'vitest'
import { charge, chargeCard, contracts } from './shop.ts'
import { stage } from './stage.ts'

const given = stage({ contracts, basePath: '/admin/jobs' })

test('a console mounted under a path stays below it: files, API, stream, links and Back', async () => {
  const { id } = await given.stint.enqueue(chargeCard, charge(1), { delay: '1h' })
  const page = await given.open(`jobs/${id}?tab=attempts`)
  await page.getByText('No attempts yet.').waitFor()
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.reload()
  await page.getByText('No attempts yet.').waitFor()
  await page.getByRole('link', { name: 'Overview', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  await page.locator('.data-age-live').waitFor()
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await page.locator(`[data-row="${id}"]`).waitFor()
  expect(new URL(page.url()).pathname).toBe('/admin/jobs/jobs')
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  expect(asked.length).toBeGreaterThan(8)
  expect(asked.filter((path) => !path.startsWith('/admin/jobs/'))).toEqual([])
  expect(asked.some((path) => path === '/admin/jobs/v1/events')).toBe(true)
})
